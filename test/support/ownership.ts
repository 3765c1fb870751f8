/** Sellers whose stores are known, callers at addresses of their own, and calls that end in each of the ways that matter here. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { memoryCounters } from '../../src/adapters/memory/counters.js'
import { memorySubscriptions } from '../../src/adapters/memory/subscriptions.js'
import { memoryTasks } from '../../src/adapters/memory/task-store.js'
import type { EndpointDef, ServeOptions, Stores } from '../../src/index.js'
import type { ChargeStore } from '../../src/ports/charge-store.js'
import { redisStores } from '../../src/redis.js'
import { type Sandbox, type SandboxAccount, startSandbox } from '../../src/sandbox.js'
import { closing } from './closing.js'
import { type DoorAsk, post, type TestDoor } from './doors.js'
import { emptiedRedis } from './emptied-redis.js'
import { gate } from './gate.js'
import { heldFacilitator } from './held-facilitator.js'
import { txIdIn } from './payer-proof.js'
import { PATIENT } from './redis-server.js'
import { open, type PaymentHeader, type Seller, signedIn } from './seller.js'

type Headers = Readonly<Record<string, string>>

/** Where what is kept lies. */
export const KINDS = ['memory', 'Redis']

/** Makes stores for the test that is running. */
export type MakeStores = () => Stores

export const SHORT_KEY = 'order-7'
export const randomKey = () => randomUUID()
export const keyed = (key: string): Headers => ({ 'idempotency-key': key })

/** Addresses, as the proxy in front of the seller reports them. */
export const HOME: Headers = { 'x-forwarded-for': '203.0.113.7' }
export const AWAY: Headers = { 'x-forwarded-for': '198.51.100.23' }

/** One sandbox and one Redis for the tests of a file. */
export function ownershipWorld() {
  const redis = emptiedRedis()
  let sandbox: Sandbox
  let accounts = 0
  beforeAll(async () => {
    sandbox = await startSandbox()
  })
  afterAll(() => sandbox.close())
  afterEach(() => sandbox.faults.clear())
  const STORES: Readonly<Record<string, MakeStores>> = {
    memory: () => ({
      charges: memoryChargeStore(),
      subscriptions: memorySubscriptions(),
      tasks: memoryTasks(),
      rateLimit: memoryCounters(),
    }),
    Redis() {
      const { charges, subscriptions, tasks, rateLimit } = closing(redisStores(redis.url, PATIENT))
      return { charges, subscriptions, tasks, rateLimit }
    },
  }
  return {
    STORES,
    redis,
    get sandbox() {
      return sandbox
    },
    /** A payer that has bought nothing yet. */
    payer: (): SandboxAccount & { readonly label: string } => {
      const label = `payer ${accounts++}`
      return { ...sandbox.accounts(label), label }
    },
    received: () => sandbox.balance(sandbox.seller.address).usdc!,
    /** Behind one proxy that says where its callers are. */
    async open(endpoints: readonly EndpointDef[], options: Parameters<typeof open>[1] = {}) {
      const facilitator = heldFacilitator()
      facilitator.serves(sandbox)
      const facilitatorUrl = await facilitator.url
      const seller = await open(endpoints, { sandbox, trustProxy: 1, facilitatorUrl, ...options })
      return { ...seller, facilitator }
    },
  }
}

export type OwnershipWorld = ReturnType<typeof ownershipWorld>
export type OwnedSeller = Awaited<ReturnType<OwnershipWorld['open']>>

/** What a facilitator says of a payment that it settled. */
export function settledReply(payment: PaymentHeader, payer: string) {
  return {
    success: true,
    transaction: txIdIn(payment),
    network: 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe',
    payer,
  }
}

/** Pays through a door and hangs up between the settlement and the answer. */
export async function payAndLose(
  { url, server, facilitator, nextEnded }: OwnedSeller,
  door: TestDoor,
  ask: DoorAsk,
  { payment, payer }: { readonly payment: PaymentHeader; readonly payer: string },
): Promise<void> {
  const settling = facilitator.hold('/settle', settledReply(payment, payer), { landed: true })
  const hangUp = new AbortController()
  const asked = once(server, 'request') as Promise<[unknown, { once(event: 'close', end: () => void): void }]>
  const lost = door(url, { ...ask, signal: hangUp.signal }).then(
    told => Promise.reject(new Error(`answered: ${told.code}`)),
    () => undefined,
  )
  const [, response] = await asked
  const closed = new Promise<void>(resolve => response.once('close', resolve))
  await settling.arrived
  hangUp.abort()
  await Promise.all([lost, closed])
  const ended = nextEnded()
  settling.answer()
  await ended
}

/** A call in doubt gives up soon. A facilitator that answers has as long as ever. */
export const DOUBT = {
  advanced: { timeouts: { certaintyMs: 50, reconcilePauseMs: 50 } },
} as const satisfies Partial<ServeOptions>

/**
 * A call that ends in doubt: nothing was submitted, and nobody says so. The facilitator goes on like that: a call that gave up may
 * still be asking.
 */
export function inDoubt<T>({ sandbox }: Seller, call: () => Promise<T>): Promise<T> {
  sandbox.faults.set('settle', 'pending')
  return call()
}

/** The payment lands, and is public from then on: the facilitator's answer to the seller was only late. */
export async function land({ sandbox }: Seller, payment: PaymentHeader): Promise<void> {
  sandbox.faults.clear('settle')
  const paymentPayload = signedIn(payment)
  const body = { x402Version: 2, paymentPayload, paymentRequirements: paymentPayload.accepted }
  await post(`${sandbox.facilitatorUrl}/settle`, body)
  // A call that gave up may have come first.
  expect(sandbox.transactions().map(({ txId }) => txId)).toContain(txIdIn(payment))
}

const LAPSES_NOW_MS = 1

/** Stores that tell when the lease of the next call in doubt was passed on. */
export function observed(stores: Stores): { readonly stores: Stores; renewed(): Promise<void> } {
  const passed = gate()
  const charges: ChargeStore = {
    ...stores.charges!,
    async renew(holds, leaseMs) {
      const isPassed = leaseMs <= LAPSES_NOW_MS
      const ours = await stores.charges!.renew(holds, isPassed ? 0 : leaseMs)
      if (isPassed) passed.enter()
      return ours
    },
  }
  let calls = 0
  return { stores: { ...stores, charges }, renewed: () => passed.entered(++calls) }
}
