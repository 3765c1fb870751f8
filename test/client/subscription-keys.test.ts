/** Subscription keys as the client keeps them: for whom, until when, and what counts as one. */
import { describe, expect, it } from 'vitest'
import {
  fewerThanSold,
  leftOf,
  type Sale,
  type SoldKey,
  soldAs,
  soldIn,
  type WindowTerms,
  windowSold,
} from '../../src/app/client/bought-subscription.js'
import type { HttpReply } from '../../src/app/client/http-reply.js'
import { subscriptionKeys, withKey } from '../../src/app/client/subscription-keys.js'
import { systemRandom } from '../../src/ports/random.js'

const url = new URL('https://seller.example/reports?day=1')
const END_MS = Date.UTC(2030, 0, 1)
const LONGEST = 'k'.repeat(4_096)

const to = (url: URL, headers: Record<string, string> = {}) => ({ url, headers })

const QUOTE = { status: 402, headers: new Headers() }

/** The end of a call that was sent once, with this answer. */
const ended = (
  reply: Pick<HttpReply, 'status' | 'headers'>,
  changes: { everLost?: boolean; attempts?: number } = {},
) => ({
  reply: { bytes: new Uint8Array(), oversized: false, ...reply },
  attempts: 1,
  everLost: false,
  ...changes,
})

function ring(startMs = END_MS - 1_000) {
  let nowMs = startMs
  let monotonicMs = startMs
  const at = (ms: number, monotonic = ms) => {
    nowMs = ms
    monotonicMs = monotonic
  }
  return { keys: subscriptionKeys({ now: () => nowMs, monotonic: () => monotonicMs }), at }
}

describe('a key that is held', () => {
  it('is for its endpoint, whatever the query, and for no other', () => {
    const { keys } = ring()
    expect(keys.hold(url, { key: 'key' })).toStrictEqual({
      url: 'https://seller.example/reports',
      key: 'key',
    })
    expect(keys.keyFor(to(new URL('https://seller.example/reports?day=2')))).toBe('key')
    for (const other of ['https://seller.example/', 'https://other.example/reports']) {
      expect(keys.keyFor(to(new URL(other)))).toBeUndefined()
    }
    expect(keys.list()).toEqual([{ url: 'https://seller.example/reports', key: 'key' }])
  })

  it.each([
    ['a date', new Date(END_MS)],
    ['a text', '2030-01-01T00:00:00Z'],
    ['milliseconds', END_MS],
  ])('covers calls until its end, told as %s, and is still sent then: the clock may be wrong', (_, end) => {
    const { keys, at } = ring()
    expect(keys.hold(url, { key: 'key', expiresAt: end })).toMatchObject({ expiresAt: END_MS })
    at(END_MS - 1)
    expect(keys.keyFor(to(url))).toBe('key')
    expect(keys.list()).toHaveLength(1)
    at(END_MS)
    expect(keys.list()).toEqual([])
    expect(keys.covers(url)).toBe(false)
    expect(keys.keyFor(to(url))).toBe('key')
    keys.answered(url, 'key', ended(QUOTE))
    expect(keys.keyFor(to(url))).toBeUndefined()
  })

  it('ends by this machine’s clock where its end is known by that, whatever its seller says', () => {
    const { keys, at } = ring()
    const begun = { nowMs: END_MS - 1_000, monotonicMs: END_MS - 1_000 }
    const lasting = { begun, lastsMs: 1_000 }
    expect(keys.hold(url, { key: 'key', expiresAt: 0 }, { lasting })).toMatchObject({ expiresAt: 0 })
    expect(keys.covers(url)).toBe(true)
    at(END_MS)
    expect(keys.covers(url)).toBe(false)
  })

  const YEAR_MS = 31_536_000_000
  it.each<[string, number, number, boolean]>([
    ['neither clock says so', END_MS - 1, 999, false],
    ['the time of day was set back by a year', END_MS - YEAR_MS, 1_000, true],
    ['the machine slept', END_MS, 10, true],
  ])('that lasts for a second has ended or not where %s', (_, nowMs, monotonicMs, isEnded) => {
    const { keys, at } = ring()
    const begun = { nowMs: END_MS - 1_000, monotonicMs: 0 }
    keys.hold(url, { key: 'key' }, { lasting: { begun, lastsMs: 1_000 } })
    at(nowMs, monotonicMs)
    expect(keys.covers(url)).toBe(!isEnded)
    expect(keys.answered(url, 'key', ended(QUOTE)).refused?.key).toBe(isEnded ? undefined : 'key')
  })

  it('without an end is kept', () => {
    const { keys, at } = ring()
    keys.hold(url, { key: 'key' })
    at(Number.MAX_SAFE_INTEGER)
    expect(keys.keyFor(to(url))).toBe('key')
  })

  it.each<[string, boolean, SoldKey, number]>([
    ['before its end', true, { key: 'key', remaining: 3 }, END_MS - 1],
    ['at its end', false, { key: 'key', remaining: 3 }, END_MS],
    ['with its calls used up', false, { key: 'key', remaining: 0 }, END_MS - 1],
  ])('and refused %s is kept: %s', (_, isKept, sold, ms) => {
    const { keys, at } = ring()
    keys.hold(url, { ...sold, expiresAt: END_MS })
    at(ms)
    expect(keys.answered(url, 'key', ended(QUOTE)).refused?.key).toBe(isKept ? 'key' : undefined)
    expect(keys.of(url)).toHaveLength(isKept ? 1 : 0)
  })

  it('is dropped by itself: a newer one stays', () => {
    const { keys } = ring()
    keys.hold(url, { key: 'newer' })
    keys.answered(url, 'older', ended(QUOTE))
    expect(keys.keyFor(to(url))).toBe('newer')
    keys.answered(url, 'newer', ended(QUOTE))
    expect(keys.keyFor(to(url))).toBeUndefined()
    keys.answered(url, 'newer', ended(QUOTE))
  })

  it.each(['', 'a b', 'schlüssel', '\u007f', `${LONGEST}k`, 'a\n', 5, undefined])('is none: %j', key => {
    const { keys } = ring()
    expect(() => keys.hold(url, { key: key as string })).toThrow(
      expect.objectContaining({
        code: 'invalid_subscription',
        message: 'A subscription key is printable ASCII without spaces',
      }),
    )
  })

  it.each(['!', '~', LONGEST])('may be as short or as long as %j', key => {
    expect(ring().keys.hold(url, { key })).toMatchObject({ key })
  })

  it('ends at a point in time or not at all', () => {
    expect(() => ring().keys.hold(url, { key: 'key', expiresAt: 'some day' })).toThrow(
      expect.objectContaining({ code: 'invalid_subscription', message: 'expiresAt is no point in time' }),
    )
  })
})

describe('the calls that are left', () => {
  const told = (remaining?: number, status = 200, headers: Record<string, string> = {}) => ({
    status,
    headers: new Headers({
      ...(remaining !== undefined && { 'x-svc-subscription-remaining': String(remaining) }),
      ...headers,
    }),
  })
  const holding = (remaining?: number) => {
    const { keys } = ring()
    keys.hold(url, { key: 'key', ...(remaining !== undefined && { remaining }) })
    return keys
  }

  it('are as the last answer said', () => {
    const keys = holding(2)
    expect(keys.list()).toMatchObject([{ key: 'key', remaining: 2 }])
    keys.answered(url, 'key', ended(told(1)))
    expect(keys.list()).toMatchObject([{ remaining: 1 }])
    keys.answered(url, 'key', ended(told(2, 500)))
    keys.answered(url, 'key', ended(told(undefined, 503)))
    expect(keys.list()).toMatchObject([{ remaining: 2 }])
  })

  it('are learnt where the key came from elsewhere, and from answers to this key alone', () => {
    const keys = holding()
    keys.answered(url, 'other', ended(told(7)))
    expect(keys.list()).toEqual([{ url: 'https://seller.example/reports', key: 'key' }])
    keys.answered(url, 'key', ended(told(7)))
    expect(keys.list()).toMatchObject([{ remaining: 7 }])
  })

  it('being none, the key is not sent, and is sent again when a call is given back', () => {
    const keys = holding(1)
    keys.answered(url, 'key', ended(told(0)))
    expect(keys.list()).toEqual([])
    expect(keys.covers(url)).toBe(false)
    expect(keys.keyFor(to(url))).toBeUndefined()
    keys.answered(url, 'key', ended(told(1, 500)))
    expect(keys.covers(url)).toBe(true)
    expect(keys.keyFor(to(url))).toBe('key')
  })

  it('being none, the key is still sent with a caller’s own idempotency key: its answer may be owed', () => {
    const keys = holding(0)
    expect(keys.keyFor(to(url, { 'Idempotency-Key': 'mine' }))).toBe('key')
    expect(keys.covers(url)).toBe(false)
  })

  it('are not raised by a replay, which says what was left then', () => {
    const replayed = { 'idempotency-replayed': 'true' }
    const keys = holding(2)
    keys.answered(url, 'key', ended(told(9, 200, replayed)))
    expect(keys.list()).toMatchObject([{ remaining: 2 }])
    keys.answered(url, 'key', ended(told(1, 200, replayed)))
    expect(keys.list()).toMatchObject([{ remaining: 1 }])
    const unknown = holding()
    unknown.answered(url, 'key', ended(told(9, 200, replayed)))
    expect(unknown.list()).toMatchObject([{ remaining: 9 }])
  })

  it('where a quote says none, the key is kept for calls that may still fail; else it is dropped', () => {
    const keys = holding(1)
    keys.answered(url, 'key', ended(told(0, 402)))
    expect(keys.covers(url)).toBe(false)
    keys.answered(url, 'key', ended(told(1, 500)))
    expect(keys.keyFor(to(url))).toBe('key')
    keys.answered(url, 'key', ended(told(1, 402)))
    keys.answered(url, 'key', ended(told(1)))
    expect(keys.keyFor(to(url))).toBeUndefined()
  })

  it.each(['', '-1', '1.5', 'many', '9'.repeat(11)])('are unknown where an answer says %j', said => {
    const keys = holding(3)
    keys.answered(
      url,
      'key',
      ended({ status: 200, headers: new Headers({ 'x-svc-subscription-remaining': said }) }),
    )
    expect(keys.list()).toMatchObject([{ remaining: 3 }])
  })
})

describe('an answer', () => {
  const sold = (headers: Record<string, string>) => soldIn(new Headers(headers))

  it('carries the key that it sold, and its end where it says one', () => {
    const key = { 'x-svc-subscription': 'key' }
    expect(sold(key)).toStrictEqual({ key: 'key' })
    expect(sold({ ...key, 'x-svc-subscription-expires': '2030-01-01T00:00:00Z' })).toStrictEqual({
      key: 'key',
      expiresAt: END_MS,
    })
    expect(sold({ ...key, 'x-svc-subscription-expires': 'some day' })).toStrictEqual({ key: 'key' })
    expect(sold({ ...key, 'x-svc-subscription-remaining': '99' })).toStrictEqual({
      key: 'key',
      remaining: 99,
    })
  })

  it.each(['', 'a b', 'schlüssel', `${LONGEST}k`])('carries none that could not be sent again: %j', key => {
    expect(sold({ 'x-svc-subscription': key })).toBeUndefined()
  })

  it('that sold none carries none', () => {
    expect(sold({})).toBeUndefined()
    expect(sold({ 'x-svc-subscription-expires': '2030-01-01T00:00:00Z' })).toBeUndefined()
  })
})

describe('a request with a key', () => {
  const request = { url, method: 'POST', headers: { accept: '*/*' } }

  it('has an idempotency key of its own, another each time', () => {
    const headers = () => withKey(request, 'key', systemRandom).headers
    const [one, other] = [headers(), headers()]
    expect(one).toMatchObject({ accept: '*/*', 'x-svc-subscription': 'key' })
    expect(one['Idempotency-Key']).toMatch(/^[0-9a-f]{32}$/)
    expect(one['Idempotency-Key']).not.toBe(other['Idempotency-Key'])
  })

  it('keeps the caller’s idempotency key, and no key but this one', () => {
    const headers = { 'Idempotency-Key': 'order-1', 'x-svc-subscription': 'another' }
    expect(withKey({ ...request, headers }, 'key', systemRandom).headers).toEqual({
      'Idempotency-Key': 'order-1',
      'x-svc-subscription': 'key',
    })
  })
})

describe('the window that a payment bought', () => {
  const RESOURCE = 'https://seller.example/reports'
  const BEGUN = { nowMs: 7, monotonicMs: 3 }
  const head = (key: string, more: object = {}, headers: Record<string, string> = {}) =>
    ({ status: 200, headers: new Headers({ 'x-svc-subscription': key, ...headers }), ...more }) as HttpReply
  const ANSWER = head('bought')
  const REPLAY = head('earlier', {}, { 'idempotency-replayed': 'true' })

  /** A sale of a window of an hour and five calls. */
  const sale = (
    {
      extra = { subscriptionPeriod: '1h', subscriptionCalls: 5 },
      delivery = { reply: ANSWER } as object,
      charged = 'yes',
    } = {} as {
      extra?: object
      delivery?: object
      charged?: string
    },
  ) =>
    ({
      selected: { accepted: { extra }, challenge: { resource: { url: RESOURCE } }, warnings: [] },
      begun: BEGUN,
      delivery: { attempts: 1, everLost: false, ...delivery },
      charged: { charged },
    }) as unknown as Sale
  const lasting = { begun: BEGUN, lastsMs: 3_600_000 }

  it('has the key of the answer, and ends as the quote said, from when the purchase began', () => {
    const terms = { resource: RESOURCE, lasting, calls: 5 }
    expect(windowSold(sale(), 'window')).toEqual({ sold: { key: 'bought' }, terms })
    expect(windowSold(sale({ charged: 'maybe' }), 'call')).toEqual({ sold: { key: 'bought' }, terms })
  })

  it.each<[string, object, object]>([
    ['has no count where the quote names none', { subscriptionPeriod: '1h' }, { lasting, calls: null }],
    ['ends when its seller says, where its period is none', { subscriptionPeriod: 'soon' }, { calls: null }],
    [
      'is counted by its seller where its count is none',
      { subscriptionPeriod: '1h', subscriptionCalls: 'many' },
      { lasting },
    ],
  ])('%s', (_, extra, terms) => {
    expect(windowSold(sale({ extra }), 'call')!.terms).toStrictEqual({ resource: RESOURCE, ...terms })
  })

  it.each(['many', '5', 0, -1, 1.5, 2 ** 53, null])(
    'has no count that can be held against its seller: %j',
    calls => {
      const { terms } = windowSold(
        sale({ extra: { subscriptionPeriod: '1h', subscriptionCalls: calls } }),
        'call',
      )!
      expect(terms).toStrictEqual({ resource: RESOURCE, lasting })
    },
  )

  it('is a guess where neither the quote nor the caller named one', () => {
    for (const extra of [{}, { subscriptionCalls: 5 }]) {
      expect(windowSold(sale({ extra }), 'call')!.terms).toStrictEqual({ resource: RESOURCE, isGuess: true })
      expect(windowSold(sale({ extra }), 'window')!.terms).toStrictEqual({
        resource: RESOURCE,
        isGuess: false,
      })
    }
    const none = { ...sale(), selected: { accepted: {}, challenge: {}, warnings: [] } } as unknown as Sale
    expect(windowSold(none, 'call')!.terms).toStrictEqual({ resource: undefined, isGuess: true })
  })

  it('ends when its seller says where an earlier payment bought it', () => {
    const replayed = windowSold(sale({ delivery: { reply: REPLAY }, charged: 'no' }), 'call')
    expect(replayed).toEqual({ sold: { key: 'earlier' }, terms: { resource: RESOURCE } })
    expect(replayed!.terms).toStrictEqual({ resource: RESOURCE })
    // A replay of this very payment repeats the answer that was lost.
    expect(windowSold(sale({ delivery: { reply: REPLAY } }), 'call')!.terms).toMatchObject({ lasting })
  })

  it('is none where nothing was charged, whatever the answer says', () => {
    expect(windowSold(sale({ charged: 'no' }), 'window')).toBeUndefined()
    expect(windowSold(sale({ delivery: { torn: ANSWER }, charged: 'no' }), 'window')).toBeUndefined()
  })

  it('may be named in the head of an answer whose body was lost, and by no host behind a redirect', () => {
    expect(windowSold(sale({ delivery: { torn: ANSWER } }), 'call')!.sold).toEqual({ key: 'bought' })
    const elsewhere = head('foreign', { location: 'https://other.example/' })
    expect(windowSold(sale({ delivery: { reply: elsewhere } }), 'call')).toBeUndefined()
    expect(windowSold(sale({ delivery: { reply: elsewhere, torn: ANSWER } }), 'call')!.sold.key).toBe(
      'bought',
    )
    expect(windowSold(sale({ delivery: {} }), 'call')).toBeUndefined()
    expect(windowSold(sale({ delivery: { reply: head('') } }), 'call')).toBeUndefined()
  })
})

describe('calls that were sold', () => {
  it.each<[number | null | undefined, number, number | undefined, number | undefined]>([
    [undefined, 1, 7, 7],
    [undefined, 1, undefined, undefined],
    [null, 1, 7, undefined],
    [5, 1, undefined, 4],
    [5, 1, 3, 4],
    [5, 1, 4, 4],
    [5, 1, 9, 9],
    [5, 7, undefined, 0],
  ])('of %s with %s used, of which the seller says %s, leave %s', (calls, used, said, left) => {
    expect(leftOf(calls, used, said)).toBe(left)
  })

  it.each<[number | null | undefined, number, number | undefined, string | undefined]>([
    [undefined, 1, 0, undefined],
    [5, 1, undefined, undefined],
    [null, 1, undefined, undefined],
    [5, 1, 4, undefined],
    [5, 1, 5, undefined],
    [5, 1, 3, 'has 3 calls left; it was sold with 5, of which 1 are used'],
    [null, 1, 3, 'has 3 calls left; it was sold without a count'],
  ])('of %s with %s used, of which the seller says %s, are fewer: %s', (calls, used, said, words) => {
    expect(fewerThanSold(calls, used, said)).toBe(
      words && `The seller says that the window ${words}. No other is bought before its end`,
    )
  })
})

describe('the resource of a quote', () => {
  it.each([
    ['https://seller.example/all?day=1', 'https://seller.example/all'],
    ['https://other.example/all', 'https://seller.example/ https://other.example/all'],
    ['https://seller.example.evil/all', 'https://seller.example/ https://seller.example.evil/all'],
    ['the reports', 'https://seller.example/ the reports'],
  ])('speaks for the origin that was asked alone: %s', (resource, name) => {
    expect(soldAs(url, resource)).toBe(name)
  })

  it.each([
    ['https://host.example/one/feed', 'https://host.example/two/ https://host.example/one/feed'],
    ['https://host.example/twofold/feed', 'https://host.example/two/ https://host.example/twofold/feed'],
    ['https://host.example/two/../one/feed', 'https://host.example/two/ https://host.example/one/feed'],
    ['https://host.example/two/reports/daily', 'https://host.example/two/reports/daily'],
  ])('speaks for no other agent of its host: %s', (resource, name) => {
    expect(soldAs(new URL('https://host.example/two/a2a'), resource)).toBe(name)
  })
})

describe('windows that were bought', () => {
  const ALL = 'https://seller.example/all'
  const other = new URL('https://seller.example/other')
  const begun = { nowMs: END_MS - 1_000, monotonicMs: END_MS - 1_000 }
  const terms: WindowTerms = { resource: ALL, lasting: { begun, lastsMs: 1_000 }, calls: 3 }
  const left = (count: number) => ({ 'x-svc-subscription-remaining': String(count) })
  const answer = (status: number, headers: Record<string, string> = {}, body?: object) => ({
    status,
    headers: new Headers(headers),
    ...(body && { bytes: Buffer.from(JSON.stringify(body)) }),
  })
  const quoteFor = (resource: string) =>
    answer(402, {}, { x402Version: 2, accepts: [], resource: { url: resource } })

  it('are of what was sold: every address whose quote names it, and no address of another origin', () => {
    const { keys } = ring()
    expect(keys.hold(url, { key: 'key' }, terms)).toEqual({ url: ALL, key: 'key', remaining: 2 })
    expect(keys.of(url)).toHaveLength(1)
    expect(keys.of(other, ALL)).toHaveLength(1)
    expect(keys.of(other)).toEqual([])
    expect(keys.of(new URL('https://other.example/reports'), ALL)).toEqual([])
    expect(keys.keyFor(to(other), ALL)).toBe('key')
    // What else is sold at the address that was asked is not known.
    expect(keys.covers(url)).toBe(false)
    expect(keys.covers(url, ALL)).toBe(true)
    expect(keys.covers(url, 'https://seller.example/reports')).toBe(false)
  })

  it('of a resource elsewhere are told by the address that was asked', () => {
    const { keys } = ring()
    const resource = 'https://other.example/all'
    expect(keys.hold(url, { key: 'key' }, { ...terms, resource }).url).toBe('https://seller.example/reports')
  })

  it('are used up in the order in which they were bought, and one that is open is never overwritten', () => {
    const { keys } = ring()
    keys.hold(url, { key: 'one' }, terms)
    keys.hold(url, { key: 'two' }, terms)
    expect(keys.of(url).map(({ key }) => key)).toEqual(['one', 'two'])
    expect(keys.keyFor(to(url))).toBe('one')
    for (const count of [1, 0]) {
      keys.sent(url, 'one')
      keys.answered(url, 'one', ended(answer(200, left(count))))
    }
    expect(keys.keyFor(to(url))).toBe('two')
    expect(keys.list().map(({ key }) => key)).toEqual(['two'])
    // A key that opens nothing is let go of where the next one is bought.
    keys.hold(url, { key: 'three' }, terms)
    expect(keys.of(url).map(({ key }) => key)).toEqual(['two', 'three'])
    // The same key again is the same window.
    expect(keys.hold(url, { key: 'two', remaining: 9 }, terms)).toMatchObject({ key: 'two', remaining: 2 })
    expect(keys.of(url)).toHaveLength(2)
  })

  it('give way to a key from elsewhere', () => {
    const { keys } = ring()
    keys.hold(url, { key: 'one' }, { ...terms, resource: 'https://seller.example/reports' })
    keys.hold(url, { key: 'mine' })
    expect(keys.of(url).map(({ key }) => key)).toEqual(['mine'])
  })

  it('learn from the answers to their own keys alone', () => {
    const { keys } = ring()
    keys.hold(url, { key: 'one' }, terms)
    keys.hold(url, { key: 'two' }, terms)
    keys.hold(other, { key: 'three' })
    keys.sent(url, 'two')
    keys.answered(url, 'two', ended(answer(200, left(1))))
    keys.answered(other, 'three', ended(answer(200, left(7))))
    expect(keys.list().map(({ key, remaining }) => [key, remaining])).toEqual([
      ['one', 2],
      ['two', 1],
      ['three', 7],
    ])
  })

  it('stay as they were known where an answer says no count', () => {
    const { keys } = ring()
    keys.hold(url, { key: 'key' }, terms)
    for (const headers of [{}, { 'idempotency-replayed': 'true' }] as Record<string, string>[]) {
      keys.sent(url, 'key')
      keys.answered(url, 'key', ended(answer(200, headers)))
      expect(keys.of(url)).toMatchObject([{ remaining: 2 }])
    }
    keys.hold(other, { key: 'uncounted' })
    keys.answered(other, 'uncounted', ended(answer(200)))
    expect(keys.of(other)).toStrictEqual([{ url: 'https://seller.example/other', key: 'uncounted' }])
  })

  it('of the very address that was asked end with whatever is quoted there', () => {
    const { keys } = ring()
    keys.hold(url, { key: 'key' })
    const quote = quoteFor('https://seller.example/another')
    expect(keys.answered(url, 'key', ended(quote)).isElsewhere).toBe(false)
    expect(keys.of(url)).toEqual([])
  })

  it('never take the place of an open key from elsewhere', () => {
    const { keys } = ring()
    keys.hold(url, { key: 'mine' })
    keys.hold(url, { key: 'bought' }, { ...terms, resource: 'https://seller.example/reports' })
    expect(keys.of(url).map(({ key }) => key)).toEqual(['mine', 'bought'])
  })

  it('of a key that nobody holds are none: a call that is sent with it counts nowhere', () => {
    const { keys } = ring()
    keys.hold(url, { key: 'key' }, terms)
    keys.sent(url, 'unknown')
    keys.sent(new URL('https://other.example/reports'), 'key')
    expect(keys.answered(url, 'key', ended(answer(200, left(2)))).fewer).toBeUndefined()
    expect(keys.of(url)).toMatchObject([{ remaining: 2 }])
  })

  it('are counted by calls that may have been counted, whatever the seller says beyond that', () => {
    const { keys } = ring()
    keys.hold(url, { key: 'key' }, { ...terms, calls: 9 })
    const call = (reply: ReturnType<typeof answer>, changes: object = {}) => {
      keys.sent(url, 'key')
      return keys.answered(url, 'key', ended(reply, changes)).fewer
    }
    expect(call(answer(200, left(7)))).toBeUndefined()
    expect(keys.of(url)).toMatchObject([{ remaining: 7 }])
    // A failure is not counted, and a replay was.
    expect(call(answer(500, left(7)))).toBeUndefined()
    expect(call(answer(200, { ...left(7), 'idempotency-replayed': 'true' }))).toBeUndefined()
    expect(keys.of(url)).toMatchObject([{ remaining: 7 }])
    // Each attempt of a call that was lost may have been counted.
    expect(call(answer(500, left(4)), { everLost: true, attempts: 3 })).toBeUndefined()
    expect(keys.of(url)).toMatchObject([{ remaining: 4 }])
    expect(call(answer(200, left(2)))).toMatch('has 2 calls left; it was sold with 9, of which 6 are used')
    expect(keys.of(url)).toMatchObject([{ remaining: 3 }])
  })

  it('that are refused before their end are kept, not sent while another is open, and opened again by a success', () => {
    const { keys } = ring()
    keys.hold(url, { key: 'one' }, terms)
    keys.sent(url, 'one')
    expect(keys.answered(url, 'one', ended(quoteFor(ALL)))).toMatchObject({
      refused: { key: 'one' },
      isElsewhere: false,
    })
    expect(keys.covers(url, ALL)).toBe(false)
    expect(keys.keyFor(to(url))).toBe('one')
    // A failure says nothing of it.
    keys.answered(url, 'one', ended(answer(500)))
    expect(keys.covers(url, ALL)).toBe(false)
    keys.answered(url, 'one', ended(answer(200)))
    expect(keys.covers(url, ALL)).toBe(true)
  })

  it('are neither refused nor counted by the quote of another resource', () => {
    const { keys } = ring()
    keys.hold(url, { key: 'one' }, terms)
    const elsewhere = quoteFor('https://seller.example/another')
    elsewhere.headers.set('x-svc-subscription-remaining', '0')
    expect(keys.answered(url, 'one', ended(elsewhere))).toEqual({ isElsewhere: true, fewer: undefined })
    expect(keys.of(url)).toMatchObject([{ remaining: 2 }])
    expect(keys.covers(url, ALL)).toBe(true)
  })

  it('that are a guess are sent, and nothing is concluded from them', () => {
    const { keys } = ring()
    keys.hold(url, { key: 'guess', expiresAt: END_MS }, { resource: ALL, isGuess: true })
    expect(keys.keyFor(to(url), ALL)).toBe('guess')
    expect(keys.covers(url, ALL)).toBe(false)
    keys.hold(url, { key: 'next' }, { resource: ALL, isGuess: true })
    expect(keys.of(url).map(({ key }) => key)).toEqual(['next'])
    // A quote in its place says that it is none.
    expect(keys.answered(url, 'next', ended(quoteFor(ALL))).refused).toBeUndefined()
    expect(keys.of(url)).toEqual([])
  })

  it('of one text at two origins are two', () => {
    const { keys } = ring()
    const twin = new URL('https://twin.example/reports')
    keys.hold(url, { key: 'same' })
    keys.hold(twin, { key: 'same' })
    keys.answered(twin, 'same', ended(answer(200, left(5))))
    expect(keys.of(url)).toEqual([{ url: 'https://seller.example/reports', key: 'same' }])
    expect(keys.of(twin)).toMatchObject([{ remaining: 5 }])
    expect(keys.known()).toEqual(new Set(['same']))
  })

  it('are dropped where they were bought, and where they are sold', () => {
    const { keys } = ring()
    keys.hold(url, { key: 'one' }, terms)
    keys.hold(other, { key: 'two' }, terms)
    keys.drop(url)
    expect(keys.list().map(({ key }) => key)).toEqual(['two'])
    keys.hold(url, { key: 'three' }, terms)
    keys.drop(new URL(`${ALL}?day=1`))
    expect(keys.list()).toEqual([])
    expect(keys.known()).toEqual(new Set())
  })

  it('that are being bought are waited for by what they are, until that ended, well or not', async () => {
    const { keys } = ring()
    let end = () => {}
    const buying = keys.purchasing(url, ALL, new Promise<void>(resolve => (end = resolve)))
    const waited = keys.purchaseOf(other, ALL)
    expect(waited).toBeDefined()
    expect(keys.purchaseOf(url, 'https://seller.example/another')).toBeUndefined()
    end()
    await buying
    await waited
    expect(keys.purchaseOf(other, ALL)).toBeUndefined()
    const failing = keys.purchasing(url, ALL, Promise.reject(new Error('no')))
    const ending = keys.purchaseOf(url, ALL)
    await expect(failing).rejects.toThrow('no')
    await ending
    expect(keys.purchaseOf(url, ALL)).toBeUndefined()
  })
})
