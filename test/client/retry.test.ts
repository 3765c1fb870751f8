import { describe, expect, it } from 'vitest'
import type { Exchange, Sent } from '../../src/app/client/exchange.js'
import { deliver, retryAfterMs } from '../../src/app/client/retry.js'

const request = { url: new URL('https://agent.example/'), method: 'POST', headers: {} }
const policy = { attempts: 3, baseMs: 0, maxMs: 0 }
const lost: Sent = { kind: 'lost', cause: 'reset' }

function answer(status: number, code?: string): Sent {
  const bytes = Buffer.from(JSON.stringify({ error: { code } }))
  return {
    kind: 'answered',
    reply: { status, headers: new Headers({ 'retry-after': '0' }), bytes, oversized: false },
  }
}

function scripted(...steps: readonly Sent[]): Exchange {
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
    ['soon', undefined],
  ]
  for (const [text, ms] of cases) {
    it(`“${text}” is ${ms}`, () => expect(retryAfterMs(new Headers({ 'retry-after': text }), nowMs)).toBe(ms))
  }
  it('that is absent is nothing', () => expect(retryAfterMs(new Headers())).toBeUndefined())
})

describe('a request is sent', () => {
  const cases: [string, readonly Sent[], number, number | undefined, boolean][] = [
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
  ]
  for (const [name, steps, attempts, status, everLost] of cases) {
    it(name, async () => {
      const delivery = await deliver(scripted(...steps), request, policy, 60_000)
      expect({ ...delivery, reply: delivery.reply?.status }).toMatchObject({
        attempts,
        reply: status,
        everLost,
      })
    })
  }

  it('once without retries, whatever happens', async () => {
    for (const sent of [lost, answer(500), answer(503)]) {
      expect((await deliver(scripted(sent), request, { ...policy, attempts: 1 }, 60_000)).attempts).toBe(1)
    }
  })
})
