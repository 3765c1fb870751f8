/** What can go wrong between two sockets: never a yes, never a no. The same over undici and over `fetch`. */
import { describe, expect, test } from 'vitest'
import { fetchExchange } from '../../../src/adapters/outbound/fetch-exchange.js'
import { undiciExchange } from '../../../src/adapters/outbound/undici-exchange.js'
import { systemClock } from '../../../src/ports/clock.js'
import { endless, json, type Path, type Reply, redirect, status } from '../../support/fake-facilitator.js'
import { skippableClock } from '../../support/skippable-clock.js'
import { FAULTS } from './fault-replies.js'
import { adapterTo, newPayment, REQUIREMENTS, start, startFake } from './setup.js'

/** For silence alone: on a busy machine it would cut short what is said. */
const SHORT_WAITS = { verifyTimeoutMs: 150, settleTimeoutMs: 150 }

const EXCHANGES = { undici: undiciExchange, fetch: fetchExchange(systemClock) }

describe.each(Object.entries(EXCHANGES))('over %s', (_, exchange) => {
  test.each(FAULTS)('%s: unreachable to verify, unknown to settle', async (name, reply) => {
    const waits = name.includes('silence') ? SHORT_WAITS : {}
    const { facilitator } = await start({ '/verify': reply, '/settle': reply }, { ...waits, exchange })
    expect(await facilitator.verify(newPayment(), REQUIREMENTS)).toEqual({
      verdict: 'unreachable',
      cause: expect.any(String),
      down: expect.any(Boolean),
    })
    expect(await facilitator.settle(newPayment(), REQUIREMENTS)).toEqual({
      verdict: 'unknown',
      cause: expect.any(String),
    })
  })

  test.each([301, 302, 303, 307, 308])('a payment does not follow a %i', async code => {
    const elsewhere = await startFake()
    const to = (path: Path) => redirect(elsewhere.url + path, code)
    const { facilitator } = await start({ '/verify': to('/verify'), '/settle': to('/settle') }, { exchange })
    expect(await facilitator.verify(newPayment(), REQUIREMENTS)).toMatchObject({ verdict: 'unreachable' })
    expect(await facilitator.settle(newPayment(), REQUIREMENTS)).toMatchObject({ verdict: 'unknown' })
    expect(elsewhere.asked).toEqual([])
  })

  test('a body without end is cut', async () => {
    const cutAfter = new Promise<number>(resolve => {
      void start({ '/settle': endless(resolve) }, { exchange }).then(({ facilitator }) =>
        facilitator.settle(newPayment(), REQUIREMENTS),
      )
    })
    // What the kernel's buffers took in by then comes on top of the 64 KiB that are read.
    expect(await cutAfter).toBeLessThan(16 * 1024 * 1024)
  })

  test('a 5xx is told at once, even where its body never ends', async () => {
    const slowFailure: Reply = response => {
      response.writeHead(502, { 'content-length': 100 }).write('{')
    }
    const { clock, pass } = skippableClock()
    const settleTimeoutMs = 20_000
    const { facilitator } = await start({ '/settle': slowFailure }, { settleTimeoutMs, exchange, clock })
    // Told at the deadline, the cause would be the deadline.
    expect(await facilitator.settle(newPayment(), REQUIREMENTS)).toEqual({
      verdict: 'unknown',
      cause: 'status 502',
    })
    // The rest of the body is waited for until then, with the connection.
    pass(settleTimeoutMs)
  })

  test('nobody listening, and asked after closing', async () => {
    const gone = await startFake()
    await gone.close()
    const facilitator = adapterTo(gone.url, { exchange })
    expect(await facilitator.verify(newPayment(), REQUIREMENTS)).toMatchObject({ verdict: 'unreachable' })
    await facilitator.close()
    expect(await facilitator.settle(newPayment(), REQUIREMENTS)).toMatchObject({ verdict: 'unknown' })
  })

  test('what is wrong is told in the status until the next good answer', async () => {
    const { fake, facilitator } = await start({ '/verify': status(503) }, { exchange })
    await facilitator.supported()
    await facilitator.verify(newPayment(), REQUIREMENTS)
    expect(facilitator.status).toEqual({ answered: true, lastError: '/verify: status 503' })
    fake.replies['/verify'] = json({ isValid: true })
    await facilitator.verify(newPayment(), REQUIREMENTS)
    expect(facilitator.status).toEqual({ answered: true })
  })
})
