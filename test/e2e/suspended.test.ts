/**
 * A process that is suspended in the middle of a paid call, for longer than its lease: a machine that sleeps, a container
 * that is paused. Another process on the same Redis serves the retry meanwhile. Then the first one goes on: there is one
 * charge and one answer, and it denies neither.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFailed } from 'vitest'
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

let redis: RedisServer
let sandbox: Sandbox
/** The process that serves the retries of all tests. */
let second: ChildAgent
/** Those that are suspended and go on, each for many tests until one fails: to start a process takes most of a test's time. */
let halting: ChildAgent | undefined
let settling: ChildAgent | undefined
let facilitator: ReturnType<typeof heldFacilitator>
const facilitators: { close(): void }[] = []
let account: string
let tests = 0
beforeAll(async () => {
  redis = await startRedis()
  sandbox = await startSandbox()
  facilitator = heldFacilitator(opened => facilitators.push(opened))
  facilitator.serves(sandbox)
  // It may stand still for longer without losing what it took over.
  second = await start({ advanced: { timeouts: { ...timeouts, leaseMs: 60_000 } } })
})
afterAll(async () => {
  for (const child of [second, halting, settling]) child?.process.kill('SIGKILL')
  for (const opened of facilitators) opened.close()
  await sandbox.close()
  await redis.stop()
})
beforeEach(() => {
  account = `payer ${++tests}`
})

const timeouts = { leaseMs: LEASE_MS, reconcilePauseMs: 50 }

function start(options: object = {}): Promise<ChildAgent> {
  const place = { redisUrl: redis.url }
  return childAgent(
    sandbox,
    { ...place, advanced: { timeouts }, idempotency: {}, ...options },
    'halting-agent.mjs',
  )
}

/** A process that is suspended in one test. */
async function agent(options: object): Promise<ChildAgent> {
  const child = await start(options)
  closing({ close: () => child.process.kill('SIGKILL') })
  return child
}

/** What this test's payer has paid. */
const paid = () => FUNDS - sandbox.balance(sandbox.accounts(account).address).usdc!
const sign = async (url: string) => {
  const payment = await signFor({ sandbox } as Seller, url, { account, body: BODY })
  return {
    body: BODY,
    headers: { 'idempotency-key': `a-random-key-that-cannot-be-guessed-${tests}`, ...payment },
  }
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
    await pause(20)
  }
}

interface Suspended {
  readonly first: ChildAgent
  /** Resolves once it stands still. */
  readonly still: Promise<unknown>
  /** Before it goes on. */
  answers(): void
}

async function suspendedAt(at: string, options?: object): Promise<Suspended> {
  const halt = { at, signal: 'SIGSTOP' }
  if (options !== undefined) {
    const first = await agent({ halt, ...options })
    return { first, still: first.said('halted'), answers() {} }
  }
  halting ??= await start()
  const first = halting
  onTestFailed(() => {
    first.process.kill('SIGKILL')
    halting = undefined
  })
  first.process.send(halt)
  await first.said('armed')
  return { first, still: first.said('halted'), answers() {} }
}

async function suspendedAsking(
  path: '/verify' | '/settle',
  reply: object,
  landed = false,
): Promise<Suspended> {
  settling ??= await start({ facilitatorUrl: await facilitator.url })
  const first = settling
  onTestFailed(() => {
    first.process.kill('SIGKILL')
    settling = undefined
  })
  const { arrived, answer } = facilitator.hold(path, reply, { landed })
  const still = arrived.then(() => first.process.kill('SIGSTOP'))
  return { first, still, answers: answer }
}

/** A call that is refused never comes to where it is suspended. Its close follows the answer. */
function unlessRefused(still: Promise<unknown>, answered: Promise<{ readonly status: number }>) {
  const refused = answered.then(({ status }) =>
    status === 200 ? still : Promise.reject(new Error(`${status} before it stood still`)),
  )
  return Promise.race([still, refused])
}

const NO = { success: false, errorReason: 'insufficient_funds', transaction: '' }
const EXPIRED = { success: false, errorReason: 'transaction pool: txn dead', transaction: '' }

const MOMENTS: readonly (readonly [name: string, suspend: () => Promise<Suspended>])[] = [
  ['after its record', () => suspendedAt('after record')],
  ['with its settlement sent, and refused too late', () => suspendedAsking('/settle', NO)],
  ['with its settlement landed, and denied', () => suspendedAsking('/settle', NO, true)],
  ['with its settlement landed, and said to be dead', () => suspendedAsking('/settle', EXPIRED, true)],
  ['before it closes', () => suspendedAt('before close')],
]

describe.each(['/work', '/window'])('suspended in a call of %s', path => {
  it.each(MOMENTS)('%s: one charge, one answer, and nothing is denied', async (_, suspend) => {
    const { first, still, answers } = await suspend()
    const request = await sign(`${first.url}${path}`)
    const slow = ask(`${first.url}${path}`, request).then(read)
    await unlessRefused(still, slow)

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
    await unlessRefused(still, woken)
    const sinceMs = performance.now()
    const url = `${second.url}/work`
    const retried = await inTheEnd(url, request)
    expect(retried).toMatchObject({ status: 200, run: { first, second }[runOf].process.pid })
    await pause(forMs - (performance.now() - sinceMs))
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
    const suspended = await suspendedAsking('/verify', {
      isValid: false,
      invalidReason: 'insufficient_funds',
    })
    expect(await takeOver(suspended, 'second')).toMatchObject(TAKEN_OVER)
  })

  it('while its record is on its way, for longer than Redis may take to answer', async () => {
    const commandTimeoutMs = 3_000
    const suspended = await suspendedAt('during record', { redis: { commandTimeoutMs } })
    expect(await takeOver(suspended, 'first', 1.5 * commandTimeoutMs)).toMatchObject(TAKEN_OVER)
  })
})

it('suspended until its payment has died: the new payment is the one charge, and the old one lands no more', async () => {
  const { first, still } = await suspendedAt('after record')
  const request = await sign(`${first.url}/work`)
  const slow = ask(`${first.url}/work`, request).then(read)
  await unlessRefused(still, slow)
  sandbox.advanceRounds(200)
  const url = `${second.url}/work`
  const renewed = await inTheEnd(url, await sign(url))
  expect(renewed).toMatchObject({ status: 200, run: second.process.pid })
  first.process.kill('SIGCONT')
  expect(await slow).toMatchObject({ status: 503, code: 'settlement_unknown' })
  expect(await inTheEnd(url, await sign(url))).toEqual(renewed)
  expect(paid()).toBe(PRICE)
})
