/** Processes of one seller on a Redis that fails, and what their one buyer is told and charged in the end. */
import { expect } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { redisStores } from '../../src/redis.js'
import { startSandbox } from '../../src/sandbox.js'
import { closing } from './closing.js'
import type { gate } from './gate.js'
import { PATIENT } from './redis-server.js'
import { ask, open, type Seller, signFor } from './seller.js'

export const PRICE = 10_000n
const KEY = { 'idempotency-key': 'a-random-key-that-cannot-be-guessed' }

export interface ProcessOptions {
  /** Handlers wait at it. */
  readonly door?: ReturnType<typeof gate>
  readonly leaseMs?: number
  readonly facilitatorUrl?: string
  readonly waitReplicas?: number
}

/** Half of it a write waits for replicas that are not there. */
const REPLICATED_COMMAND_MS = 2_000

export type Told = readonly [status: number, said: unknown]
export const told = async (response: Response): Promise<Told> => {
  const body = (await response.json()) as { run?: number; error?: { code: string } }
  return [response.status, body.run ?? body.error?.code]
}
export const call = async ({ url }: Seller, request: object) => told(await ask(`${url}/work`, request))
/** Whether it reaches its store: a process connects again some time after its Redis has come back. */
export const isReady = async ({ url }: Seller) => (await fetch(`${url}/ready`)).ok

const PASSING = ['store_unavailable', 'idempotency_in_progress', 'payment_in_use']

/** What is said once Redis answers again, and no other call is at work any more. */
export async function inTheEnd(seller: Seller, request: object): Promise<Told> {
  let last: Told | undefined
  const passing = async () => {
    last = await call(seller, request)
    return PASSING.includes(last[1] as string)
  }
  await expect.poll(passing, { timeout: 20_000 }).toBe(false)
  return last!
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

export type FailingMarket = Awaited<ReturnType<typeof failingMarket>>

/** For the test that is running. */
export async function failingMarket() {
  const sandbox = closing(await startSandbox())
  let runs = 0
  return {
    sandbox,
    received: () => sandbox.balance(sandbox.seller.address).usdc,
    /** How often the handler ran, in all processes. */
    runs: () => runs,
    /** With connections of its own. */
    async process(
      redis: Parameters<typeof redisStores>[0],
      { door, leaseMs, waitReplicas, ...options }: ProcessOptions = {},
    ): Promise<Seller> {
      const commandTimeoutMs = waitReplicas ? REPLICATED_COMMAND_MS : PATIENT.commandTimeoutMs
      const stores = closing(redisStores(redis, { commandTimeoutMs, waitReplicas, logger: silent }))
      await stores.ping()
      const work = defineEndpoint({
        name: 'work',
        price: '$0.01',
        async handler() {
          const run = ++runs
          door?.enter()
          await door?.opened
          return { run }
        },
      })
      return open([work], {
        sandbox,
        stores,
        idempotency: {},
        advanced: { timeouts: { leaseMs } },
        ...options,
      })
    },
    /** A new payment, with the one key. */
    sign: async ({ url }: Seller) => ({
      headers: { ...KEY, ...(await signFor({ sandbox } as Seller, `${url}/work`)) },
    }),
  }
}
