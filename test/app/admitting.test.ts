/** Rates, each by itself: under whose name a call is counted, and when. */
import { describe, expect, it } from 'vitest'
import { memoryCounters } from '../../src/adapters/memory/counters.js'
import type { ChargeDeps, Rate } from '../../src/app/charge/charge-deps.js'
import { admit } from '../../src/app/charge/effects/admit.js'
import { verify } from '../../src/app/charge/effects/verify.js'
import { perMinute } from '../../src/ports/counters.js'
import type { Verification } from '../../src/ports/facilitator.js'
import { DOWN, type Given, oneCall } from '../support/one-call.js'

const RATE: Rate = { terms: perMinute(1), per: 'payer', bucket: '' }
const PER_IP: Rate = { ...RATE, per: 'ip' }
const VALID = { verdict: 'valid', payer: 'PAYER' } as const
/** A minute that does not pass. */
const STILL = { clock: { monotonic: () => 0 }, max: 100 }
const from = (clientAddress: string): Given => ({ request: { clientAddress } })

/** One server, whose calls are counted together on a clock that stands still. */
function server(rate: Rate | undefined, over: Partial<ChargeDeps> = {}) {
  const rateLimit = memoryCounters(STILL)
  const facilitator = (says: Verification) =>
    ({ verify: async () => says }) as unknown as ChargeDeps['facilitator']
  const chain = { round: async () => undefined } as unknown as ChargeDeps['chain']
  const walk = async (given: Given, says?: Verification) => {
    const world = { rateLimit, chain, ...(says && { facilitator: facilitator(says) }), ...over }
    const { call, ended } = oneCall({ ...given, endpoint: { rate }, world })
    const { answer } = await ended(admit)
    call.terms.requirements = call.endpoint.terms.requirements(10_000n, undefined)
    const then = says && answer === 'admitted' ? (await ended(verify)).answer : answer
    return { answer: then, retryAfterMs: call.end.retryAfterMs, problem: call.end.problem?.code, call }
  }
  return {
    rateLimit,
    walk,
    admitted: async (given: Given) => (await walk(given)).answer,
    verified: async (given: Given, says: Verification = VALID) => (await walk(given, says)).answer,
  }
}

describe('a call', () => {
  it('of an endpoint without a limit is not counted', async () => {
    const { admitted, verified } = server(undefined, { rateLimit: DOWN })
    expect(await admitted({ paid: {} })).toBe('admitted')
    expect(await verified({ paid: {} })).toBe('verified')
  })

  it('is not taken, nor counted, by a process that is leaving', async () => {
    const stop = { draining: () => true } as ChargeDeps['stop']
    const { walk, rateLimit } = server(PER_IP, { stop })
    expect(await walk({})).toMatchObject({ answer: 'draining' })
    expect(rateLimit.peek('ip:192.0.2.7', perMinute(1))).toEqual({ admitted: true })
  })

  it('is counted by its address alone where the limit is per address', async () => {
    const { walk, verified } = server(PER_IP)
    expect(await walk({})).toMatchObject({ answer: 'admitted', retryAfterMs: undefined })
    expect(await walk({ paid: {} })).toMatchObject({ answer: 'limited', retryAfterMs: 60_000 })
    const other = { ...from('198.51.100.1'), paid: {} }
    expect(await verified(other)).toBe('verified')
    expect(await verified({ ...from('198.51.100.2'), paid: {} })).toBe('verified')
    expect(await verified(other)).toBe('limited')
  })

  it.each<[Rate['per'], Given]>([
    ['ip', {}],
    ['payer', { paid: {} }],
  ])('is counted by its /64 where it is counted by address: a limit per %s', async (per, given) => {
    const { admitted } = server({ ...RATE, per })
    expect(await admitted({ ...given, ...from('2001:db8::1') })).toBe('admitted')
    expect(await admitted({ ...given, ...from('2001:db8::2') })).toBe('limited')
    expect(await admitted({ ...given, ...from('2001:db8:0:1::2') })).toBe('admitted')
  })

  it('that brings neither payment nor key is a question, and not limited per payer', async () => {
    const { admitted } = server(RATE, { rateLimit: DOWN })
    expect(await admitted({})).toBe('admitted')
  })

  it('of a window is counted by its key, wherever it comes from', async () => {
    const { walk, admitted } = server(RATE)
    const window = (subscriptionKey: string, clientAddress = '192.0.2.7'): Given => ({
      request: { subscriptionKey, clientAddress },
    })
    expect(await admitted(window('svc_one'))).toBe('admitted')
    expect(await admitted(window('svc_two'))).toBe('admitted')
    expect(await walk(window('svc_one', '198.51.100.1'))).toMatchObject({
      answer: 'limited',
      retryAfterMs: 60_000,
    })
  })

  it('is counted apart from those of an endpoint with a limit of its own', async () => {
    const { rateLimit, admitted } = server(PER_IP)
    await admitted({})
    const other = server({ ...PER_IP, bucket: 'other:' }, { rateLimit })
    expect(await other.admitted({})).toBe('admitted')
    expect(await other.admitted({})).toBe('limited')
  })
})

describe('a payment that nobody has verified', () => {
  it.each<[string, Given]>([
    ['of one payer', { paid: {} }],
    ['that cannot be read', { paid: 'unreadable', payload: { payload: { payer: 'CLAIMED' } } }],
    ['that is malformed', { request: { payment: { kind: 'malformed', why: 'no JSON' } } }],
  ])('is counted under the caller’s address, whoever it names: one %s', async (_, given) => {
    const { walk, admitted } = server(RATE)
    expect(await admitted(given)).toBe('admitted')
    const limited = { answer: 'limited', retryAfterMs: 60_000, call: { holds: { countedUnder: undefined } } }
    expect(await walk({ paid: { payer: 'OTHER' } })).toMatchObject(limited)
    expect(await admitted({ ...from('198.51.100.1'), paid: { payer: 'OTHER' } })).toBe('admitted')
  })

  it('that names no payer is held against the limit of none', async () => {
    const rateLimit = { ...memoryCounters(STILL), peek: () => Promise.reject(new Error('down')) }
    const { admitted } = server(RATE, { rateLimit })
    expect(await admitted({ paid: 'unreadable' })).toBe('admitted')
  })

  it('uses up nobody’s limit but that of its address', async () => {
    const { admitted, verified } = server(RATE)
    expect(await admitted({ paid: {} })).toBe('admitted')
    expect(await verified({ ...from('198.51.100.1'), paid: {} })).toBe('verified')
  })

  it('of a payer who is over the limit is refused, and its address is not counted', async () => {
    for (const given of [
      { paid: {} },
      { paid: 'unreadable', payload: { payload: { payer: 'PAYER' } } },
    ] as const) {
      const { walk, admitted, verified } = server(RATE)
      await verified({ ...from('198.51.100.1'), paid: {} })
      const limited = {
        answer: 'limited',
        retryAfterMs: 60_000,
        call: { holds: { countedUnder: undefined } },
      }
      expect(await walk(given)).toMatchObject(limited)
      expect(await admitted({ paid: { payer: 'OTHER' } })).toBe('admitted')
    }
  })
})

describe('a payment that was verified', () => {
  it('is counted under its payer, and no longer under its address', async () => {
    const { walk, verified } = server(RATE)
    expect(await verified({ paid: {} })).toBe('verified')
    expect(await verified({ paid: { payer: 'OTHER' } })).toBe('verified')
    const limited = { answer: 'limited', retryAfterMs: 60_000 }
    expect(await walk({ ...from('198.51.100.1'), paid: {} }, VALID)).toMatchObject(limited)
  })

  it('and whose payer became over the limit meanwhile gives its address back all the same', async () => {
    const { rateLimit, walk, admitted } = server(RATE)
    const meanwhile = {
      verify: async () => {
        rateLimit.take('payer:PAYER', perMinute(1))
        return VALID
      },
    } as unknown as ChargeDeps['facilitator']
    const { answer, retryAfterMs } = await server(RATE, { rateLimit, facilitator: meanwhile }).walk(
      { paid: {} },
      VALID,
    )
    expect({ answer, retryAfterMs }).toEqual({ answer: 'limited', retryAfterMs: 60_000 })
    expect(await admitted({ paid: { payer: 'OTHER' } })).toBe('admitted')
    expect((await walk({ paid: { payer: 'THIRD' } })).answer).toBe('limited')
  })

  it('and that names no payer stays counted under its address', async () => {
    const { verified, admitted } = server(RATE)
    expect(await verified({ paid: 'unreadable' }, { verdict: 'valid' })).toBe('verified')
    expect(await admitted({ paid: {} })).toBe('limited')
    expect(await verified({ ...from('198.51.100.1'), paid: 'unreadable' }, { verdict: 'valid' })).toBe(
      'verified',
    )
  })

  it('takes nothing back where nothing was counted', async () => {
    const given: unknown[] = []
    const rateLimit = {
      peek: () => Promise.reject(new Error('down')),
      take: async () => ({ admitted: true }),
      giveBack: async (key: unknown) => void given.push(key),
    } as unknown as ChargeDeps['rateLimit']
    const { verified } = server(RATE, { rateLimit })
    expect(await verified({ paid: {}, rules: { uncountedAdmitted: true } })).toBe('verified')
    expect(given).toEqual([])
  })
})

describe('a count that cannot be made', () => {
  it.each([
    [true, 'admitted'],
    [false, 'storeDown'],
  ])('lets calls in as the seller chose: %s', async (uncountedAdmitted, answer) => {
    const { walk } = server(PER_IP, { rateLimit: DOWN })
    const problem = uncountedAdmitted ? undefined : 'store_unavailable'
    expect(await walk({ rules: { uncountedAdmitted } })).toMatchObject({ answer, problem })
  })

  it.each([
    [true, 'verified'],
    [false, 'storeDown'],
  ])('lets verified payments on as the seller chose: %s', async (uncountedAdmitted, answer) => {
    const memory = memoryCounters(STILL)
    const rateLimit = { ...memory, giveBack: () => Promise.reject(new Error('down')) }
    const { walk } = server(RATE, { rateLimit })
    const problem = uncountedAdmitted ? undefined : 'store_unavailable'
    expect(await walk({ paid: {}, rules: { uncountedAdmitted } }, VALID)).toMatchObject({ answer, problem })
  })
})
