import { describe, expect, it } from 'vitest'
import { requestOf } from '../../src/app/client/build-request.js'
import type { Exchange, ExchangeResult } from '../../src/app/client/http-reply.js'
import {
  ask,
  askBriefly,
  deliver,
  ONCE,
  retryAfterMs,
  type SentPayment,
} from '../../src/app/client/send-with-retries.js'
import { systemClock } from '../../src/ports/clock.js'
import { systemRandom } from '../../src/ports/random.js'
import { overA2a } from '../support/seller-replies.js'

const request = { url: new URL('https://agent.example/'), method: 'POST', headers: {} }
const policy = { attempts: 3, baseMs: 0, maxMs: 0 }
const lost: ExchangeResult = { kind: 'lost', cause: 'reset' }

const OURS = 'O'.repeat(52)
const payment: SentPayment = { txId: OURS, landsUntilMs: Number.POSITIVE_INFINITY }

/** As our server answers: with the payment's id, and when to come back. */
function answer(status: number, code?: string, txId: string | undefined = OURS, after = '0'): ExchangeResult {
  const bytes = Buffer.from(JSON.stringify({ error: { code, txId } }))
  const headers = new Headers(after ? { 'retry-after': after } : {})
  return { kind: 'answered', reply: { status, headers, bytes, oversized: false } }
}
const bare = (status: number, code: string) => answer(status, code, '', '')
const foreign = (status: number, code: string) => answer(status, code, 'F'.repeat(52))

const depsFor = (exchange: Exchange, attempts = policy.attempts) => ({
  exchange,
  retry: { ...policy, attempts },
  clock: systemClock,
  random: systemRandom,
  timeoutMs: 60_000,
})

function scripted(...steps: readonly ExchangeResult[]): Exchange {
  const left = [...steps]
  return async () => left.shift() ?? Promise.reject(new Error('sent once too often'))
}

describe('Retry-After', () => {
  const nowMs = Date.parse('2030-01-01T00:00:00Z')
  const cases: [string, number | undefined][] = [
    ['0', 0],
    ['2', 2_000],
    ['86400', 30_000],
    ['999999999', 30_000],
    ['Tue, 01 Jan 2030 00:00:05 GMT', 5_000],
    ['Mon, 31 Dec 2029 00:00:00 GMT', 0],
    ['Fri, 01 Jan 2100 00:00:00 GMT', 30_000],
    ['2030-01-01T00:00:05Z', 5_000],
    ['Tue, 01 Jan 2030 00:00:05 +0000', 5_000],
    ['soon', undefined],
  ]
  for (const [text, ms] of cases) {
    it(`“${text}” is ${ms}`, () => expect(retryAfterMs(new Headers({ 'retry-after': text }), nowMs)).toBe(ms))
  }
  it('that is absent is nothing', () => expect(retryAfterMs(new Headers(), nowMs)).toBeUndefined())
})

describe('between two attempts', () => {
  /** Time that passes as soon as it is waited for; how long each wait was. */
  function quick() {
    const waits: number[] = []
    let nowMs = 0
    const clock = {
      ...systemClock,
      monotonic: () => nowMs,
      after(ms: number, callback: () => void) {
        waits.push(ms)
        nowMs += ms
        queueMicrotask(callback)
        return () => {}
      },
    }
    return { clock, waits }
  }
  const half = { ...systemRandom, fraction: () => 0.5 }
  const silent = answer(500, 'broken', OURS, '')

  it('a client pauses a random part of a bound that doubles, up to the longest', async () => {
    const { clock, waits } = quick()
    const retry = { attempts: 5, baseMs: 100, maxMs: 300 }
    const exchange = scripted(silent, silent, silent, silent, silent)
    await deliver({ exchange, retry, clock, random: half, timeoutMs: 60_000 }, request)
    expect(waits).toEqual([50, 100, 150, 150])
  })

  it('answers that are waited out do not count against the attempts', async () => {
    const { clock } = quick()
    const working = answer(503, 'idempotency_in_progress', OURS, '1')
    const exchange = scripted(lost, working, working, silent, answer(200))
    const delivery = await deliver(
      { exchange, retry: { attempts: 3, baseMs: 0, maxMs: 0 }, clock, random: half, timeoutMs: 60_000 },
      request,
      payment,
    )
    expect(delivery).toMatchObject({ attempts: 5, reply: { status: 200 } })
  })

  it('none is waited out past the time of one answer', async () => {
    const { clock } = quick()
    const working = answer(409, 'idempotency_in_progress', OURS, '1')
    const exchange = scripted(lost, working)
    const delivery = await deliver(
      { exchange, retry: policy, clock, random: half, timeoutMs: 1_000 },
      request,
      payment,
    )
    expect(delivery).toMatchObject({ attempts: 2, reply: { status: 409 }, everLost: true })
  })

  it('what was lost each time ends with the cause', async () => {
    const { clock } = quick()
    const exchange = scripted(lost, lost, lost)
    const delivery = await deliver(
      { exchange, retry: policy, clock, random: half, timeoutMs: 1_000 },
      request,
    )
    expect(delivery).toEqual({ cause: 'reset', attempts: 3, everLost: true })
  })

  it('without a payment nothing is waited out for its sake', async () => {
    for (const [status, code] of [
      [409, 'payment_in_use'],
      [409, 'settlement_unknown'],
    ] as const) {
      const { clock } = quick()
      const exchange = scripted(lost, answer(status, code))
      const delivery = await deliver(
        { exchange, retry: policy, clock, random: half, timeoutMs: 60_000 },
        request,
      )
      expect(delivery).toMatchObject({ attempts: 2, reply: { status } })
    }
  })

  it('the caller may give up', async () => {
    const giveUp = new AbortController()
    const clock = {
      ...systemClock,
      after() {
        giveUp.abort()
        return () => {}
      },
    }
    const sent = deliver(
      {
        exchange: scripted(silent),
        retry: { attempts: 2, baseMs: 1, maxMs: 1 },
        clock,
        random: half,
        timeoutMs: 60_000,
      },
      { ...request, signal: giveUp.signal },
    )
    await expect(sent).rejects.toMatchObject({
      code: 'aborted',
      message: 'The call to https://agent.example was aborted',
    })
  })
})

describe('a request is sent', () => {
  const cases: [string, readonly ExchangeResult[], number, number | undefined, boolean][] = [
    ['once for a success', [answer(200)], 1, 200, false],
    ['once for 4xx', [answer(404)], 1, 404, false],
    ['once for 409 where nothing was lost', [answer(409, 'payment_in_use')], 1, 409, false],
    ['three times for 5xx', [answer(500), answer(503), answer(500)], 3, 500, false],
    ['three times for what a gateway lost', [answer(502), answer(504), answer(502)], 3, 502, true],
    [
      'on and on after a settlement that was not known',
      [answer(503, 'settlement_unknown'), answer(409, 'idempotency_in_progress'), answer(200)],
      3,
      200,
      true,
    ],
    ['until it succeeds', [answer(500), answer(200)], 2, 200, false],
    ['three times where all is lost', [lost, lost, lost], 3, undefined, true],
    [
      'on and on while a lost attempt is worked on',
      [lost, ...Array(9).fill(answer(503)), answer(409, 'idempotency_in_progress'), answer(200)],
      12,
      200,
      true,
    ],
    ['once more where another conflict ends it', [lost, answer(409, 'payment_spent')], 2, 409, true],
    ['once for 429', [answer(429, 'rate_limited')], 1, 429, false],
    [
      'on and on while earlier runs are not settled, and three times besides',
      [
        ...Array(5).fill(answer(429, 'too_many_unpaid_calls')),
        answer(500),
        answer(429, 'too_many_unpaid_calls'),
        answer(500),
        answer(200),
      ],
      9,
      200,
      false,
    ],
    [
      'once for a 429 that does not say when to come back',
      [bare(429, 'too_many_unpaid_calls')],
      1,
      429,
      false,
    ],
    ['once for that code with another status', [answer(400, 'too_many_unpaid_calls')], 1, 400, false],
    [
      'three times for “settlement unknown” of another payment',
      Array(3).fill(foreign(503, 'settlement_unknown')),
      3,
      503,
      false,
    ],
    [
      'three times for “settlement unknown” of no payment',
      Array(3).fill(bare(503, 'settlement_unknown')),
      3,
      503,
      false,
    ],
    ['once more for “in use” of another payment', [lost, foreign(409, 'payment_in_use')], 2, 409, true],
    ['once more for “in use” of no payment', [lost, bare(409, 'payment_in_use')], 2, 409, true],
    [
      'once more for “in progress” without a time to come back',
      [lost, bare(409, 'idempotency_in_progress')],
      2,
      409,
      true,
    ],
  ]
  for (const [name, steps, attempts, status, everLost] of cases) {
    it(name, async () => {
      const rpc = steps.map(sent => (sent.kind === 'lost' ? sent : { ...sent, reply: overA2a(sent.reply) }))
      for (const sent of [steps, rpc]) {
        const delivery = await deliver(depsFor(scripted(...sent)), request, payment)
        expect({ ...delivery, reply: delivery.reply?.status }).toMatchObject({
          attempts,
          reply: status,
          everLost,
        })
      }
    })
  }

  it('takes a charge that the seller does not know for lost where a balance pays, and not where a payment does', async () => {
    for (const paid of [undefined, payment]) {
      const steps = Array(3).fill(bare(503, 'charge_unknown'))
      const delivery = await deliver(depsFor(scripted(...steps)), request, paid)
      expect(delivery).toMatchObject({ attempts: 3, everLost: paid === undefined })
    }
  })

  it('keeps the head of an answer that was torn: a key in it was paid for', async () => {
    const head = { status: 200, headers: new Headers({ a: 'b' }) } as NonNullable<
      Extract<ExchangeResult, { kind: 'lost' }>['head']
    >
    const torn: ExchangeResult = { ...lost, head }
    for (const [steps, kept] of [
      [[torn, lost, answer(200)], head],
      [[lost, torn, answer(200)], head],
      [[lost, answer(200)], undefined],
    ] as const) {
      const delivery = await deliver(depsFor(scripted(...steps)), request, payment)
      expect(delivery.torn).toBe(kept)
    }
  })

  it('once without retries, whatever happens', async () => {
    const once = { ...depsFor(scripted(lost)), retry: ONCE }
    expect((await deliver(once, request, payment)).attempts).toBe(1)
    for (const sent of [lost, answer(500), answer(503), answer(429, 'too_many_unpaid_calls')]) {
      const delivery = deliver(depsFor(scripted(sent), 1), request, payment)
      expect((await delivery).attempts).toBe(1)
    }
  })

  it('once where no payment is in it, and runs are not settled', async () => {
    expect((await deliver(depsFor(scripted(answer(429, 'too_many_unpaid_calls'))), request)).attempts).toBe(1)
  })

  it('not again where the payment would be too late, or the time is up', async () => {
    const asked = answer(429, 'too_many_unpaid_calls', OURS, '2')
    const landsUntilMs = performance.now() + 1_000
    const late = deliver(depsFor(scripted(asked)), request, { txId: OURS, landsUntilMs })
    expect((await late).attempts).toBe(1)
    expect(
      (await deliver({ ...depsFor(scripted(asked)), timeoutMs: 1_000 }, request, payment)).attempts,
    ).toBe(1)
  })
})

describe('a request without a payment', () => {
  const replied = (status: number, headers: Record<string, string> = {}): ExchangeResult => {
    const reply = { status, headers: new Headers(headers), bytes: new Uint8Array(), oversized: false }
    return { kind: 'answered', reply }
  }
  const wantsGet = replied(405, { allow: 'HEAD, GET' })

  /** The methods and the times that an exchange is asked for. */
  function recorded(...steps: readonly ExchangeResult[]) {
    const next = scripted(...steps)
    const methods: string[] = []
    const times: number[] = []
    const exchange: Exchange = (sent, timeoutMs) => {
      methods.push(sent.method)
      times.push(timeoutMs)
      return next(sent, timeoutMs)
    }
    return { methods, times, deps: depsFor(exchange, 1) }
  }

  it('is sent again as a GET where the endpoint allows only that', async () => {
    const { methods, deps } = recorded(wantsGet, replied(200))
    const { request: answered, reply } = await ask(
      { ...deps, timeoutMs: 1_000 },
      { ...request, mayBeGet: true },
    )
    expect({ methods, answered: answered.method, status: reply.status }).toEqual({
      methods: ['POST', 'GET'],
      answered: 'GET',
      status: 200,
    })
  })

  it('is sent again as a GET where nothing is there by POST, as most frameworks answer another method', async () => {
    const found = recorded(replied(404), replied(402))
    const bare = { ...request, mayBeGet: true }
    expect((await ask({ ...found.deps, timeoutMs: 1_000 }, bare)).request.method).toBe('GET')
    expect(found.methods).toEqual(['POST', 'GET'])
    const none = recorded(replied(404), replied(404))
    expect((await ask({ ...none.deps, timeoutMs: 1_000 }, bare)).request.method).toBe('POST')
  })

  it.each<[string, ExchangeResult, unknown, { method?: string }]>([
    ['has a body and meets nothing', replied(404), {}, {}],
    ['has a body', wantsGet, {}, {}],
    ['has a method of the caller’s', wantsGet, undefined, { method: 'POST' }],
    ['meets another status', replied(403, { allow: 'GET' }), undefined, {}],
    ['meets an endpoint for another method', replied(405, { allow: 'PUT, WIDGET' }), undefined, {}],
    ['meets an endpoint that names no method', replied(405), undefined, {}],
  ])('is sent once where it %s', async (_, step, body, options) => {
    const { methods, deps } = recorded(step)
    await ask({ ...deps, timeoutMs: 1_000 }, requestOf(request.url, body, options))
    expect(methods).toEqual(['POST'])
  })

  it('waits half a minute at most where the answer takes no work', async () => {
    for (const [timeoutMs, asked] of [
      [360_000, 30_000],
      [10, 10],
    ] as const) {
      const { times, deps } = recorded(replied(200))
      await askBriefly({ ...deps, timeoutMs }, request)
      expect(times).toEqual([asked])
    }
  })

  it('whose pause is given up leaves no timer', async () => {
    const giveUp = new AbortController()
    const timers: string[] = []
    const clock = {
      ...systemClock,
      after() {
        timers.push('set')
        giveUp.abort()
        return () => timers.push('cancelled')
      },
    }
    const waiting = deliver({ ...depsFor(scripted(lost)), clock }, { ...request, signal: giveUp.signal })
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' })
    expect(timers).toEqual(['set', 'cancelled'])
  })
})
