import { expect, test } from 'vitest'
import { facilitatorList } from '../../../src/adapters/facilitator/failover.js'
import type { Facilitator } from '../../../src/ports/facilitator.js'
import {
  type FakeFacilitator,
  json,
  type Path,
  type Reply,
  reset,
  status,
  text,
} from '../../support/fake-facilitator.js'
import { FULL, listing, newPayment, OTHER_SPONSOR, REQUIREMENTS, SHORT, SPONSOR, start } from './setup.js'

const YES = json({ isValid: true })
const NO = json({ isValid: false, invalidReason: 'short' })
const OUTAGE = status(503)
const SETTLED = (txId: string) => json({ success: true, transaction: txId })

interface Pair {
  readonly a: FakeFacilitator
  readonly b: FakeFacilitator
  readonly list: Facilitator
  /** Resolve when the question of our own that is under way is answered. */
  readonly heard: Readonly<Record<'a' | 'b', () => Promise<unknown>>>
  /** The sponsors that were quoted, with the URL of whose they are. */
  readonly quotes: Set<string>
  /** Time stands still otherwise. */
  pass(ms: number): void
}

const PAUSE_MS = 10_000

async function pair(a: Partial<Record<Path, Reply>>, b: Partial<Record<Path, Reply>>): Promise<Pair> {
  let nowMs = 0
  const clock = { monotonic: () => nowMs }
  const first = await start({ '/settle': SETTLED('A'), ...a })
  const second = await start({
    '/supported': listing(FULL, { feePayer: OTHER_SPONSOR }),
    '/settle': SETTLED('B'),
    ...b,
  })
  await Promise.all([first.facilitator.supported(), second.facilitator.supported()])
  const quotes = new Set<string>()
  const quoted = {
    note: (url: string, sponsor: string) => void quotes.add(`${url} ${sponsor}`),
    wasQuoted: (url: string, sponsor: string) => quotes.has(`${url} ${sponsor}`),
  }
  const list = facilitatorList([first.facilitator, second.facilitator], { pauseMs: PAUSE_MS, clock, quoted })
  const heard = { a: first.facilitator.isUp, b: second.facilitator.isUp }
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { a: first.fake, b: second.fake, list, heard, quotes, pass }
}

/** The first is down: it answers no question of our own, either. */
const DOWN = { '/verify': OUTAGE, '/supported': OUTAGE } as const
const down = (fake: FakeFacilitator) => Object.assign(fake.replies, DOWN)

const payment = newPayment

test.each([
  ['5xx', OUTAGE],
  ['a reset', reset],
])(
  'where %s is the answer to our own question too, verify moves on, and settle stays with who vouched',
  async (_, fault) => {
    const { a, b, list } = await pair({ '/verify': fault, '/supported': fault }, { '/verify': YES })
    const unsponsored = payment()
    expect(await list.verify(unsponsored, REQUIREMENTS)).toEqual({ verdict: 'valid' })
    expect(await list.settle(unsponsored, REQUIREMENTS)).toEqual({ verdict: 'settled', txId: 'B' })
    expect([a.count('/settle'), b.count('/settle')]).toEqual([0, 1])
  },
)

test('a no is a no: nobody else is asked', async () => {
  const { b, list } = await pair({ '/verify': NO }, { '/verify': YES })
  expect(await list.verify(payment(), REQUIREMENTS)).toEqual({ verdict: 'refused', reason: 'short' })
  expect(b.count('/verify')).toBe(0)
})

test.each([
  ['5xx', OUTAGE],
  ['a reset', reset],
  ['a no', json({ success: false, transaction: '', errorReason: 'x' })],
  ['pending', json({ success: false, transaction: '', errorReason: 'settlement_pending' })],
])('after a settle that ended in %s no second facilitator settles, nor vouches again', async (_, ending) => {
  const { a, b, list } = await pair({ '/verify': YES, '/settle': ending }, { '/verify': YES })
  const paid = payment()
  await list.verify(paid, REQUIREMENTS)
  await list.settle(paid, REQUIREMENTS)
  a.replies['/verify'] = OUTAGE
  expect(await list.verify(paid, REQUIREMENTS)).toMatchObject({ verdict: 'unreachable' })
  await list.settle(paid, REQUIREMENTS)
  expect([a.count('/settle'), b.count('/settle'), b.count('/verify')]).toEqual([2, 0, 0])
})

test('a payment that nobody here has verified is settled by nobody, except where there is only one', async () => {
  const { a, b, list } = await pair({}, {})
  expect(await list.settle(payment(), REQUIREMENTS)).toMatchObject({ verdict: 'unknown' })
  expect([a.count('/settle'), b.count('/settle')]).toEqual([0, 0])
  const { facilitator } = await start({ '/settle': SETTLED('A') })
  const quoted = { note() {}, wasQuoted: () => false }
  const alone = facilitatorList([facilitator], { quoted })
  expect(await alone.settle(payment(), REQUIREMENTS)).toMatchObject({ txId: 'A' })
})

test('a payment that was refused is settled by nobody', async () => {
  const { list } = await pair({ '/verify': NO }, { '/verify': NO })
  const refused = payment()
  await list.verify(refused, REQUIREMENTS)
  expect(await list.settle(refused, REQUIREMENTS)).toMatchObject({ verdict: 'unknown' })
})

test('a sponsored payment goes to the facilitator whose sponsor has to sign it, and to no other', async () => {
  const { a, b, list } = await pair({ '/verify': NO }, { '/verify': YES })
  await list.supported()
  a.replies['/verify'] = OUTAGE
  expect(await list.verify(payment(), REQUIREMENTS, SPONSOR)).toMatchObject({ verdict: 'unreachable' })
  expect([a.count('/verify'), b.count('/verify')]).toEqual([1, 0])
  down(a)
  expect(await list.verify(payment(), REQUIREMENTS, SPONSOR)).toMatchObject({ verdict: 'unreachable' })
  expect([a.count('/verify'), b.count('/verify')]).toEqual([2, 0])
})

test('a payer that names the sponsor of a backup that nobody quoted is refused, and nobody is asked', async () => {
  const { a, b, list } = await pair({ '/verify': YES }, { '/verify': YES })
  await list.supported()
  const refused = { verdict: 'refused', reason: expect.stringContaining('not quoted now') }
  expect(await list.verify(payment(), REQUIREMENTS, OTHER_SPONSOR)).toEqual(refused)
  expect([a.count('/verify'), b.count('/verify')]).toEqual([0, 0])
})

test('nor does the copy of the terms that the payer sends choose a facilitator', async () => {
  const { a, b, list } = await pair({ '/verify': NO }, { '/verify': YES })
  await list.supported()
  const { accepted, ...rest } = payment()
  const named = { ...rest, accepted: { ...(accepted as object), extra: { feePayer: OTHER_SPONSOR } } }
  expect(await list.verify(named, REQUIREMENTS)).toEqual({ verdict: 'refused', reason: 'short' })
  expect([a.count('/verify'), b.count('/verify')]).toEqual([1, 0])
})

test('the sponsor of a backup counts where it was quoted, also by another server', async () => {
  const { b, list, quotes } = await pair({ '/verify': NO }, { '/verify': YES })
  await list.supported()
  quotes.add(`${b.url} ${OTHER_SPONSOR}`)
  expect(await list.verify(payment(), REQUIREMENTS, OTHER_SPONSOR)).toEqual({ verdict: 'valid' })
})

test('the sponsor of a backup counts while all before it are paused', async () => {
  const { a, list, quotes } = await pair({}, { '/verify': YES })
  await list.supported()
  down(a)
  await list.verify(payment(), REQUIREMENTS)
  quotes.clear()
  expect(await list.verify(payment(), REQUIREMENTS, OTHER_SPONSOR)).toEqual({ verdict: 'valid' })
})

test('a backup that claims the sponsor of the first gets none of its payments', async () => {
  const { a, b, list } = await pair(
    { '/verify': NO },
    { '/supported': listing(FULL, { feePayer: SPONSOR }), '/verify': YES },
  )
  await list.supported()
  expect(await list.verify(payment(), REQUIREMENTS, SPONSOR)).toMatchObject({ verdict: 'refused' })
  expect([a.count('/verify'), b.count('/verify')]).toEqual([1, 0])
})

test('a sponsor’s key that went from the first to the second brings its payments to the second', async () => {
  const { a, b, list, heard } = await pair({}, { '/verify': YES })
  await list.supported()
  a.replies['/supported'] = listing(SHORT, { feePayer: OTHER_SPONSOR })
  b.replies['/supported'] = listing(SHORT, { feePayer: SPONSOR })
  await Promise.all([heard.a(), heard.b()])
  down(a)
  await list.verify(payment(), REQUIREMENTS)
  expect(await list.supported()).toMatchObject({ feePayer: SPONSOR })
  expect(await list.verify(payment(), REQUIREMENTS, SPONSOR)).toEqual({ verdict: 'valid' })
})

test('with an unknown sponsor, a no counts only where everybody before it has answered', async () => {
  const { a, list } = await pair(DOWN, { '/verify': NO })
  const unknown = 'C'.repeat(58)
  expect(await list.verify(payment(), REQUIREMENTS, unknown)).toMatchObject({ verdict: 'unreachable' })
  expect(await list.verify(payment(), REQUIREMENTS)).toMatchObject({ verdict: 'refused' })
  a.replies['/verify'] = NO
  expect(await list.verify(payment(), REQUIREMENTS, unknown)).toMatchObject({ verdict: 'refused' })
})

test('when nobody answers, the cause names each', async () => {
  const { a, b, list } = await pair(DOWN, { '/verify': reset })
  const verification = await list.verify(payment(), REQUIREMENTS)
  expect(verification).toMatchObject({ verdict: 'unreachable', cause: expect.stringContaining(a.url) })
  expect(verification).toMatchObject({ cause: expect.stringContaining(b.url) })
})

test('a facilitator that is down is left alone until it answers a question of our own', async () => {
  const { a, list, heard, pass } = await pair({}, { '/verify': YES })
  down(a)
  const verify = async (times: number) => {
    for (let i = 0; i < times; i++)
      expect(await list.verify(payment(), REQUIREMENTS)).toEqual({ verdict: 'valid' })
    return a.count('/verify')
  }
  expect(await verify(10)).toBe(1)
  pass(PAUSE_MS)
  const asked = a.count('/supported')
  expect(await verify(10)).toBe(1)
  await a.askedTimes('/supported', asked + 1)
  await heard.a()
  Object.assign(a.replies, { '/supported': listing(SHORT), '/verify': YES })
  pass(PAUSE_MS)
  await list.verify(payment(), REQUIREMENTS)
  await heard.a()
  expect(await verify(10)).toBe(11)
})

test.each([
  ['a page of a firewall', text('<html>Blocked</html>', 403, 'text/html')],
  ['413', status(413)],
  ['429', status(429)],
  ['500', status(500)],
  ['502', OUTAGE],
  ['a reset', reset],
  ['nonsense', json({ isValid: 'true' })],
])(
  'payments that end in %s pause nobody who answers our own question, and go to nobody else',
  async (_, fault) => {
    const { a, b, list } = await pair({ '/verify': fault }, { '/verify': YES })
    for (let i = 0; i < 20; i++)
      expect(await list.verify(payment(), REQUIREMENTS)).toMatchObject({ verdict: 'unreachable' })
    expect([a.count('/verify'), b.count('/verify')]).toEqual([20, 0])
    expect(await list.supported()).toMatchObject({ feePayer: SPONSOR })
    a.replies['/verify'] = YES
    expect(await list.verify(payment(), REQUIREMENTS)).toEqual({ verdict: 'valid' })
  },
)

test('payments that fail at once ask one question of our own', async () => {
  const { a, list } = await pair({ '/verify': reset }, {})
  const asked = a.count('/supported')
  await Promise.all(Array.from({ length: 20 }, () => list.verify(payment(), REQUIREMENTS)))
  await Promise.all(Array.from({ length: 20 }, () => list.verify(payment(), REQUIREMENTS)))
  expect(a.count('/supported') - asked).toBe(1)
})

test.each([403, 404, 429])('a %i to our own question is an answer', async code => {
  const { a, b, list } = await pair({ '/verify': OUTAGE }, { '/verify': YES })
  a.replies['/supported'] = status(code)
  expect(await list.verify(payment(), REQUIREMENTS)).toMatchObject({ verdict: 'unreachable' })
  expect(b.count('/verify')).toBe(0)
})

test('a refusal is an answer, not a failure', async () => {
  const { a, list } = await pair({ '/verify': NO }, {})
  for (let i = 0; i < 5; i++) await list.verify(payment(), REQUIREMENTS)
  expect(a.count('/verify')).toBe(5)
})

test('quotes name the first that is not paused; where all are, each is asked', async () => {
  const { a, b, list, heard } = await pair({}, { '/verify': YES })
  const ofA = { network: SHORT, feePayer: SPONSOR }
  const ofB = { network: FULL, feePayer: OTHER_SPONSOR }
  expect(list.url).toBe(a.url)
  expect(await list.supported()).toEqual(ofA)
  down(a)
  await list.verify(payment(), REQUIREMENTS)
  expect(await list.supported()).toEqual(ofB)
  down(b)
  await list.verify(payment(), REQUIREMENTS)
  await heard.b()
  expect(await list.supported()).toEqual(ofA)
  a.replies['/verify'] = YES
  expect(await list.verify(payment(), REQUIREMENTS)).toEqual({ verdict: 'valid' })
})

test('quotes name whoever has answered', async () => {
  const { list } = await pair({ '/supported': OUTAGE }, {})
  expect(await list.supported()).toEqual({ network: FULL, feePayer: OTHER_SPONSOR })
  const neither = await pair({ '/supported': OUTAGE }, { '/supported': OUTAGE })
  expect(await neither.list.supported()).toBeUndefined()
})

test('a pause does not stand between a verified payment and its settlement', async () => {
  const { a, list } = await pair({ '/verify': YES }, { '/verify': OUTAGE })
  const verified = payment()
  await list.verify(verified, REQUIREMENTS)
  down(a)
  await list.verify(payment(), REQUIREMENTS)
  expect(await list.settle(verified, REQUIREMENTS)).toEqual({ verdict: 'settled', txId: 'A' })
})
