/**
 * A process that is suspended in the middle of a paid call, for longer than its lease: a machine that sleeps, a container
 * that is paused. Another process on the same Redis serves the retry meanwhile. Then the first one goes on: there is one
 * charge and one answer, and it denies neither.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { type ChildAgent, childAgent } from '../support/child-agent.js'
import { closing } from '../support/closing.js'
import { heldFacilitator } from '../support/held-facilitator.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'
import { ask, receiptIn, type Seller, signFor } from '../support/seller.js'

const PRICE = 10_000n
const FUNDS = 100_000_000n
const BODY = { question: 'who?' }
const LEASE_MS = 300
const COMMAND_TIMEOUT_MS = 500

let redis: RedisServer
let sandbox: Sandbox
/** The process that serves the retries of all tests. */
let second: ChildAgent
let account: string
let tests = 0
beforeAll(async () => {
  redis = await startRedis()
  sandbox = await startSandbox()
  second = await start()
})
afterAll(async () => {
  second.process.kill('SIGKILL')
  await sandbox.close()
  await redis.stop()
})
beforeEach(() => {
  account = `payer ${++tests}`
})

const timeouts = { leaseMs: LEASE_MS, settleMs: 1_000, reconcilePauseMs: 50 }

function start(options: object = {}): Promise<ChildAgent> {
  const place = { redisUrl: redis.url, redis: { commandTimeoutMs: COMMAND_TIMEOUT_MS } }
  return childAgent(sandbox, { ...place, timeouts, idempotency: {}, ...options }, 'halting-agent.mjs')
}

/** The process that is suspended. */
async function agent(options: object): Promise<ChildAgent> {
  const child = await start(options)
  closing({ close: () => child.process.kill('SIGKILL') })
  return child
}

/** What this test's payer has paid. */
const paid = () => FUNDS - sandbox.balance(sandbox.accounts(account).address).usdc!
const sign = async (url: string) => {
  const payment = await signFor({ sandbox } as Seller, url, { account, body: BODY })
  return { body: BODY, headers: { 'idempotency-key': `a-key-that-cannot-be-guessed-${tests}`, ...payment } }
}

interface Answer {
  readonly status: number
  readonly run?: number
  readonly code?: string
  readonly message?: string
  readonly txId: unknown
  readonly windowKey: string | null
}

async function read(response: Response): Promise<Answer> {
  const { run, error } = (await response.json()) as { run?: number; error?: Record<string, string> }
  return {
    status: response.status,
    run,
    code: error?.code,
    message: error?.message,
    txId: error ? error.txId : receiptIn(response).txId,
    windowKey: response.headers.get('x-svc-subscription'),
  }
}

/** Asked again for as long as the first process's lease stands. */
async function inTheEnd(url: string, request: object): Promise<Answer> {
  for (;;) {
    const answer = await read(await ask(url, request))
    if (answer.code !== 'idempotency_in_progress') return answer
  }
}

interface Suspended {
  readonly first: ChildAgent
  /** Resolves once it stands still. */
  readonly still: Promise<unknown>
  /** Before it goes on. */
  answers(): void
}

async function suspendedAt(at: string, options: object = {}): Promise<Suspended> {
  const first = await agent({ halt: { at, signal: 'SIGSTOP' }, ...options })
  return { first, still: first.said('halted'), answers() {} }
}

async function suspendedAtSettling(reply: object, landed: boolean): Promise<Suspended> {
  const facilitator = heldFacilitator()
  facilitator.serves(sandbox)
  const first = await agent({ facilitatorUrl: await facilitator.url })
  const settling = facilitator.hold('/settle', reply, { landed })
  const still = settling.arrived.then(() => first.process.kill('SIGSTOP'))
  return { first, still, answers: settling.answer }
}

const NO = { success: false, errorReason: 'insufficient_funds', transaction: '' }
const EXPIRED = { success: false, errorReason: 'transaction pool: txn dead', transaction: '' }

const MOMENTS: readonly (readonly [name: string, suspend: () => Promise<Suspended>])[] = [
  ['after its record', () => suspendedAt('after record')],
  ['with its settlement sent, and refused too late', () => suspendedAtSettling(NO, false)],
  ['with its settlement landed, and denied', () => suspendedAtSettling(NO, true)],
  ['with its settlement landed, and said to be dead', () => suspendedAtSettling(EXPIRED, true)],
  ['before it closes', () => suspendedAt('before close')],
]

describe.each(['/work', '/window'])('suspended in a call of %s', path => {
  it.each(MOMENTS)('%s: one charge, one answer, and nothing is denied', async (_, suspend) => {
    const { first, still, answers } = await suspend()
    const request = await sign(`${first.url}${path}`)
    const slow = ask(`${first.url}${path}`, request).then(read)
    await still

    const url = `${second.url}${path}`
    const retried = await inTheEnd(url, request)
    const renewed = await inTheEnd(url, await sign(url))
    expect(retried).toMatchObject({ status: 200, run: first.process.pid })
    expect(renewed).toEqual(retried)

    answers()
    first.process.kill('SIGCONT')
    const woken = await slow
    if (woken.status === 200) expect(woken).toEqual(retried)
    else expect(woken).toMatchObject({ status: 503, code: 'settlement_unknown', txId: retried.txId })

    // Whatever the woken process closed, forfeited or gave back was not its own any more.
    expect(await inTheEnd(url, await sign(url))).toEqual(retried)
    if (path === '/window') {
      const headers = { 'x-svc-subscription': retried.windowKey! }
      const covered = async ({ url }: ChildAgent) =>
        (await ask(`${url}${path}`, { body: BODY, headers })).status
      expect(await covered(second)).toBe(200)
      // The woken process may first have to connect to Redis again.
      await expect.poll(() => covered(first)).toBe(200)
    }
    expect(paid()).toBe(PRICE)
  })
})

describe('suspended before it settles, and taken over: it does not deny what the other call charges', () => {
  const TIMEOUT_MS = 1_000

  /** Suspends the first, lets the second answer the retry, and answers what the first says when it goes on after so long. */
  async function takeOver({ first, still, answers }: Suspended, runOf: 'first' | 'second', forMs = 0) {
    const request = await sign(`${first.url}/work`)
    const woken = ask(`${first.url}/work`, request)
    await still
    const sinceMs = performance.now()
    const url = `${second.url}/work`
    const retried = await inTheEnd(url, request)
    expect(retried).toMatchObject({ status: 200, run: { first, second }[runOf].process.pid })
    await new Promise(resolve => setTimeout(resolve, forMs - (performance.now() - sinceMs)))
    answers()
    first.process.kill('SIGCONT')
    const response = await woken
    expect(await inTheEnd(url, await sign(url))).toEqual(retried)
    expect(paid()).toBe(PRICE)
    expect(response.headers.get('payment-required')).toBeNull()
    return read(response)
  }

  const TAKEN_OVER = {
    status: 409,
    code: 'superseded',
    message: expect.stringContaining('may charge it, once'),
  }

  it('in its handler', async () => {
    expect(await takeOver(await suspendedAt('after handler'), 'second')).toMatchObject(TAKEN_OVER)
  })

  it('in its handler, for longer than that may take', async () => {
    const suspended = await suspendedAt('before handler', { timeout: TIMEOUT_MS, handlerMs: 60_000 })
    expect(await takeOver(suspended, 'second', 1.5 * TIMEOUT_MS)).toMatchObject(TAKEN_OVER)
  })

  it('while its payment is verified, which has left its payer with too little', async () => {
    const facilitator = heldFacilitator()
    facilitator.serves(sandbox)
    const first = await agent({ facilitatorUrl: await facilitator.url })
    const verifying = facilitator.hold('/verify', { isValid: false, invalidReason: 'insufficient_funds' })
    const still = verifying.arrived.then(() => first.process.kill('SIGSTOP'))
    const suspended = { first, still, answers: verifying.answer }
    expect(await takeOver(suspended, 'second')).toMatchObject(TAKEN_OVER)
  })

  it('while its record is on its way, for longer than Redis may take to answer', async () => {
    const suspended = await suspendedAt('during record')
    expect(await takeOver(suspended, 'first', 2 * COMMAND_TIMEOUT_MS)).toMatchObject(TAKEN_OVER)
  })
})

it('suspended until its payment has died: the new payment is the one charge, and the old one lands no more', async () => {
  const { first, still } = await suspendedAt('after record')
  const request = await sign(`${first.url}/work`)
  const slow = ask(`${first.url}/work`, request).then(read)
  await still
  sandbox.advanceRounds(200)
  const url = `${second.url}/work`
  const renewed = await inTheEnd(url, await sign(url))
  expect(renewed).toMatchObject({ status: 200, run: second.process.pid })
  first.process.kill('SIGCONT')
  expect(await slow).toMatchObject({ status: 503, code: 'settlement_unknown' })
  expect(await inTheEnd(url, await sign(url))).toEqual(renewed)
  expect(paid()).toBe(PRICE)
})
