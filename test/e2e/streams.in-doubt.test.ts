/** Streams whose settlement nobody knows: their callers hear 503, ask again, and get what they were charged for, or no charge. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { defineEndpoint, type HandlerContext, type ServeOptions } from '../../src/index.js'
import type { ChargeStore } from '../../src/ports/charge-store.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { gate } from '../support/gate.js'
import { heldFacilitator } from '../support/held-facilitator.js'
import { ask, open, receiptIn, signFor } from '../support/seller.js'
import { skippableClock } from '../support/skippable-clock.js'

const PRICE = 10_000n
const LEASE_OVER_MS = 16_000
/** The test lets it pass. */
const SETTLE_MS = 4_000
const KEY = { 'idempotency-key': 'a-random-key-that-no-stranger-guesses' }
const KEYS = [
  ['under a key', KEY],
  ['without a key', {}],
] as const

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

/** A call whose facilitator has submitted nothing and does not say so, and the same call again, a lease later. */
async function doubtful(
  handler: (context: HandlerContext) => unknown,
  {
    headers = {},
    stream = true,
    lostRecord,
    ...options
  }: Partial<ServeOptions> & { headers?: object; stream?: boolean; lostRecord?: number },
) {
  let offsetMs = 0
  let records = 0
  const store = memoryChargeStore({ clock: { now: Date.now, monotonic: () => performance.now() + offsetMs } })
  const passed = gate()
  const charges: ChargeStore = {
    ...store,
    async record(move) {
      if (++records === lostRecord) throw new Error('no answer in time')
      return store.record(move)
    },
    async renew(holds, leaseMs) {
      const ours = await store.renew(holds, leaseMs)
      // A call at work renews its lease for longer; one that has ended lets it go.
      if (leaseMs < 1_000) passed.enter()
      return ours
    },
  }
  const endpoint = defineEndpoint({ name: 'work', price: '$0.01', stream, handler })
  const facilitator = heldFacilitator()
  facilitator.serves(sandbox)
  // The call asks, and once more before it gives up.
  const settling = facilitator.hold('/settle', {}, { times: 2 })
  const { clock, pass } = skippableClock()
  const timeouts = { settleMs: SETTLE_MS, certaintyMs: 2 * SETTLE_MS, reconcilePauseMs: 50 }
  const seller = await open([endpoint], {
    sandbox,
    facilitatorUrl: await facilitator.url,
    advanced: { clock, timeouts },
    idempotency: {},
    stores: { charges },
    ...options,
  })
  const usdc = () => sandbox.balance(sandbox.seller.address).usdc!
  const before = usdc()
  const payment = { ...(await signFor(seller, `${seller.url}/work`, { body: {} })), ...headers }
  const send = () => ask(`${seller.url}/work`, { body: {}, headers: payment })
  const asked = send()
  await expect.poll(() => facilitator.count('/settle')).toBe(1)
  pass(SETTLE_MS)
  await settling.arrived
  pass(SETTLE_MS)
  const first = await asked
  return {
    told: [first.status, await codeOf(first)],
    send,
    async sendLater() {
      await passed.entered()
      offsetMs = LEASE_OVER_MS
      return send()
    },
    seller,
    earned: () => usdc() - before,
  }
}

const codeOf = async (response: Response) =>
  ((await response.json()) as { error: { code: string } }).error.code

it.each([
  ...KEYS.map(([how, headers]) => [how, headers, undefined] as const),
  ['where the store is silent once', KEY, 2],
] as const)(
  'is read for its caller, and charged once when it is taken: %s',
  async (_, headers, lostRecord) => {
    let runs = 0
    const { told, sendLater, send, earned } = await doubtful(
      async function* () {
        runs++
        yield 'one'
        yield { two: 2 }
      },
      { headers, ...(lostRecord && { lostRecord }) },
    )
    expect([told, earned()]).toEqual([[503, 'settlement_unknown'], 0n])
    const answer = await sendLater()
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      'data: one\n\ndata: {"two":2}\n\n',
    ])
    expect(receiptIn(answer).success).toBe(true)
    await (await send()).text()
    expect([runs, earned()]).toEqual([1, PRICE])
  },
)

it.each([
  ['under a key', KEY, 'idempotency_in_progress'],
  ['without a key', {}, 'payment_in_use'],
] as const)('is in progress until it has been read: %s', async (_, headers, code) => {
  const door = gate()
  const { send, sendLater } = await doubtful(
    async function* () {
      door.enter()
      await door.opened
      yield 'late'
    },
    { headers },
  )
  await door.entered()
  const meanwhile = await send()
  expect([meanwhile.status, await codeOf(meanwhile)]).toEqual([409, code])
  door.open()
  expect(await (await sendLater()).text()).toBe('data: late\n\n')
})

const LARGE = 'x'.repeat(2_000)

it.each<[string, Parameters<typeof doubtful>[0], boolean]>([
  [
    'a stream that breaks',
    async function* () {
      yield 'one'
      throw new Error('as planned')
    },
    true,
  ],
  [
    'a stream that is too large',
    async function* () {
      yield LARGE
    },
    true,
  ],
  ['an answer that is too large', () => LARGE, false],
])('%s could not be kept: asking again does not charge for it', async (_, handler, stream) => {
  const { told, sendLater, earned } = await doubtful(handler, {
    headers: KEY,
    idempotency: { maxAnswerBytes: 1_000 },
    stream,
  })
  expect(told).toEqual([503, 'settlement_unknown'])
  const again = await sendLater()
  expect([again.status, await codeOf(again), earned()]).toEqual([503, 'settlement_unknown', 0n])
})

it('tells its source where the server stops before it has been read', async () => {
  const door = gate()
  let signal: AbortSignal | undefined
  const { seller } = await doubtful(
    async function* (context) {
      signal = context.signal
      door.enter()
      await new Promise(resolve => signal!.addEventListener('abort', resolve))
      yield 'too late'
    },
    { shutdownTimeoutMs: 100 },
  )
  await door.entered()
  expect(await seller.server.shutdown('over')).toMatchObject({ outcome: 'timedOut' })
  expect(signal!.aborted).toBe(true)
})
