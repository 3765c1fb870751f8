/** Subscription keys as the client keeps them: for whom, until when, and what counts as one. */
import { describe, expect, it } from 'vitest'
import type { HttpReply } from '../../src/app/client/http-reply.js'
import { type SoldKey, soldIn } from '../../src/app/client/sold-window.js'
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
    expect(sold(key)).toEqual({ key: 'key' })
    expect(sold({ ...key, 'x-svc-subscription-expires': '2030-01-01T00:00:00Z' })).toEqual({
      key: 'key',
      expiresAt: END_MS,
    })
    expect(sold({ ...key, 'x-svc-subscription-expires': 'some day' })).toEqual({ key: 'key' })
    expect(sold({ ...key, 'x-svc-subscription-remaining': '99' })).toEqual({ key: 'key', remaining: 99 })
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
