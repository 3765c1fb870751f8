import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { facilitatorList } from '../../../src/adapters/facilitator/failover.js'
import type { PaymentPayload } from '../../../src/domain/x402.js'
import type { Facilitator } from '../../../src/ports/facilitator.js'
import {
  type FakeFacilitator,
  json,
  type Path,
  type Reply,
  reset,
  status,
} from '../../support/fake-facilitator.js'
import { FULL, listing, newPayment, OTHER_SPONSOR, REQUIREMENTS, SHORT, SPONSOR, start } from './setup.js'

const YES = json({ isValid: true })
const NO = json({ isValid: false, invalidReason: 'short' })
const OUTAGE = status(503)
const SETTLED = (txId: string) => json({ success: true, transaction: txId })

// The breakers read the clock; sockets and timers stay real.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

interface Pair {
  readonly a: FakeFacilitator
  readonly b: FakeFacilitator
  readonly list: Facilitator
}

async function pair(
  a: Partial<Record<Path, Reply>>,
  b: Partial<Record<Path, Reply>>,
  options?: { failuresMax?: number; pauseMs?: number },
): Promise<Pair> {
  const first = await start({ '/settle': SETTLED('A'), ...a })
  const second = await start({
    '/supported': listing(FULL, { feePayer: OTHER_SPONSOR }),
    '/settle': SETTLED('B'),
    ...b,
  })
  await Promise.all([first.facilitator.supported(), second.facilitator.supported()])
  return {
    a: first.fake,
    b: second.fake,
    list: facilitatorList([first.facilitator, second.facilitator], options),
  }
}

function payment(feePayer?: string): PaymentPayload {
  const { accepted, ...rest } = newPayment()
  return { ...rest, accepted: { ...(accepted as object), extra: feePayer ? { feePayer } : {} } }
}

test.each([
  ['5xx', OUTAGE],
  ['a reset', reset],
  ['nonsense', json({ isValid: 'true' })],
])('verify moves on after %s, and settle stays with who vouched', async (_, fault) => {
  const { a, b, list } = await pair({ '/verify': fault }, { '/verify': YES })
  const unsponsored = payment()
  expect(await list.verify(unsponsored, REQUIREMENTS)).toEqual({ verdict: 'valid' })
  expect(await list.settle(unsponsored, REQUIREMENTS)).toEqual({ verdict: 'settled', txId: 'B' })
  expect([a.count('/settle'), b.count('/settle')]).toEqual([0, 1])
})

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
  expect(await facilitatorList([facilitator]).settle(payment(), REQUIREMENTS)).toMatchObject({ txId: 'A' })
})

test('a payment that was refused is settled by nobody', async () => {
  const { list } = await pair({ '/verify': NO }, { '/verify': NO })
  const refused = payment()
  await list.verify(refused, REQUIREMENTS)
  expect(await list.settle(refused, REQUIREMENTS)).toMatchObject({ verdict: 'unknown' })
})

test('a sponsored payment goes to the facilitator whose sponsor it names, and to no other', async () => {
  const { a, b, list } = await pair({ '/verify': NO }, { '/verify': YES })
  await list.supported()
  expect(await list.verify(payment(OTHER_SPONSOR), REQUIREMENTS)).toEqual({ verdict: 'valid' })
  expect(a.count('/verify')).toBe(0)
  a.replies['/verify'] = OUTAGE
  expect(await list.verify(payment(SPONSOR), REQUIREMENTS)).toMatchObject({ verdict: 'unreachable' })
  expect(b.count('/verify')).toBe(1)
})

test('with an unknown sponsor, a no counts only where everybody before it has answered', async () => {
  const { a, list } = await pair({ '/verify': OUTAGE }, { '/verify': NO })
  const sponsored = () => payment('C'.repeat(58))
  expect(await list.verify(sponsored(), REQUIREMENTS)).toMatchObject({ verdict: 'unreachable' })
  expect(await list.verify(payment(), REQUIREMENTS)).toMatchObject({ verdict: 'refused' })
  a.replies['/verify'] = NO
  expect(await list.verify(sponsored(), REQUIREMENTS)).toMatchObject({ verdict: 'refused' })
})

test('when nobody answers, the cause names each', async () => {
  const { a, b, list } = await pair({ '/verify': OUTAGE }, { '/verify': reset })
  const verification = await list.verify(payment(), REQUIREMENTS)
  expect(verification).toMatchObject({ verdict: 'unreachable', cause: expect.stringContaining(a.url) })
  expect(verification).toMatchObject({ cause: expect.stringContaining(b.url) })
})

test('a facilitator that fails again and again is left alone, then tried once, then trusted again', async () => {
  const { a, list } = await pair(
    { '/verify': OUTAGE },
    { '/verify': YES },
    { failuresMax: 3, pauseMs: 10_000 },
  )
  const verify = async (times: number) => {
    for (let i = 0; i < times; i++)
      expect(await list.verify(payment(), REQUIREMENTS)).toEqual({ verdict: 'valid' })
    return a.count('/verify')
  }
  expect(await verify(10)).toBe(3)
  vi.setSystemTime(Date.now() + 10_000)
  expect(await verify(10)).toBe(4)
  vi.setSystemTime(Date.now() + 10_000)
  a.replies['/verify'] = YES
  expect(await verify(10)).toBe(14)
})

test('a refusal is an answer, not a failure', async () => {
  const { a, list } = await pair({ '/verify': NO }, {}, { failuresMax: 2 })
  for (let i = 0; i < 5; i++) await list.verify(payment(), REQUIREMENTS)
  expect(a.count('/verify')).toBe(5)
})

test('while one is tried again, others do not wait for the trial', async () => {
  const { a, list } = await pair(
    { '/verify': OUTAGE },
    { '/verify': YES },
    { failuresMax: 1, pauseMs: 10_000 },
  )
  await list.verify(payment(), REQUIREMENTS)
  vi.setSystemTime(Date.now() + 10_000)
  let answerTrial: () => void = () => {}
  a.replies['/verify'] = response => {
    answerTrial = () => YES(response)
  }
  const trial = list.verify(payment(), REQUIREMENTS)
  await a.askedTimes('/verify', 2)
  expect(await list.verify(payment(), REQUIREMENTS)).toEqual({ verdict: 'valid' })
  expect(a.count('/verify')).toBe(2)
  answerTrial()
  expect(await trial).toEqual({ verdict: 'valid' })
})

test('quotes name the first that is not left alone, and come back to it after the pause', async () => {
  const { a, list } = await pair(
    { '/verify': OUTAGE },
    { '/verify': YES },
    { failuresMax: 1, pauseMs: 10_000 },
  )
  const ofA = { network: SHORT, feePayer: SPONSOR }
  const ofB = { network: FULL, feePayer: OTHER_SPONSOR }
  expect(list.url).toBe(a.url)
  expect(await list.supported()).toEqual(ofA)
  await list.verify(payment(), REQUIREMENTS)
  expect(await list.supported()).toEqual(ofB)
  vi.setSystemTime(Date.now() + 10_000)
  expect(await list.supported()).toEqual(ofA)
})

test('quotes name whoever has answered', async () => {
  const { list } = await pair({ '/supported': OUTAGE }, {})
  expect(await list.supported()).toEqual({ network: FULL, feePayer: OTHER_SPONSOR })
  const neither = await pair({ '/supported': OUTAGE }, { '/supported': OUTAGE })
  expect(await neither.list.supported()).toBeUndefined()
})

test('an open circuit does not stand between a verified payment and its settlement', async () => {
  const { a, list } = await pair({ '/verify': YES }, { '/verify': OUTAGE }, { failuresMax: 1 })
  const verified = payment()
  await list.verify(verified, REQUIREMENTS)
  a.replies['/verify'] = OUTAGE
  await list.verify(payment(), REQUIREMENTS)
  expect(await list.settle(verified, REQUIREMENTS)).toEqual({ verdict: 'settled', txId: 'A' })
})
