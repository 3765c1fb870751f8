import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { fetchExchange } from '../../../src/adapters/outbound/fetch-exchange.js'
import { undiciExchange } from '../../../src/adapters/outbound/undici-exchange.js'
import { systemClock } from '../../../src/ports/clock.js'
import { hang, json, type Reply, status } from '../../support/fake-facilitator.js'
import { skippableClock } from '../../support/skippable-clock.js'
import { newPayment, REQUIREMENTS, start } from './setup.js'

test('fifty calls in a row use one connection, and our own question another', async () => {
  const { fake, facilitator } = await start()
  await facilitator.supported()
  for (let call = 0; call < 25; call++) {
    const payment = newPayment()
    await facilitator.verify(payment, REQUIREMENTS)
    await facilitator.settle(payment, REQUIREMENTS)
  }
  expect(fake.asked).toHaveLength(51)
  expect(fake.socketsOpened).toBe(2)
})

test('errors with a short body do not cost the connection', async () => {
  const { fake, facilitator } = await start({ '/verify': status(503) })
  for (let call = 0; call < 20; call++) await facilitator.verify(newPayment(), REQUIREMENTS)
  expect(fake.socketsOpened).toBe(2)
})

describe.each(Object.entries({ undici: undiciExchange, fetch: fetchExchange(systemClock) }))(
  'over %s',
  (_, exchange) => {
    test('calls at once open no more connections than allowed', async () => {
      const waiting: ServerResponse[] = []
      const answerByFours: Reply = response => {
        if (waiting.push(response) < 4) return
        for (const one of waiting.splice(0)) json({ isValid: true })(one)
      }
      const { fake, facilitator } = await start({ '/verify': answerByFours }, { connectionsMax: 4, exchange })
      const calls = Array.from({ length: 100 }, () => facilitator.verify(newPayment(), REQUIREMENTS))
      expect(new Set((await Promise.all(calls)).map(({ verdict }) => verdict))).toEqual(new Set(['valid']))
      expect(fake.atOnceMax).toBe(4)
      // What pools the connections of `fetch` is the runtime's own.
      if (exchange === undiciExchange) expect(fake.socketsOpened).toBeLessThanOrEqual(5)
    })

    test('a settle that waited for a connection until it was given up never leaves', async () => {
      const { clock, pass } = skippableClock()
      const limits = { settleTimeoutMs: 20_000, verifyTimeoutMs: 40_000 }
      const { fake, facilitator } = await start(
        { '/verify': hang },
        { connectionsMax: 1, ...limits, exchange, clock },
      )
      await facilitator.supported()
      const blocking = facilitator.verify(newPayment(), REQUIREMENTS)
      await fake.askedTimes('/verify', 1)
      const waiting = facilitator.settle(newPayment(), REQUIREMENTS)
      await setImmediate()
      pass(limits.settleTimeoutMs)
      expect(await waiting).toMatchObject({ verdict: 'unknown' })
      pass(limits.verifyTimeoutMs)
      expect(await blocking).toMatchObject({ verdict: 'unreachable' })
      fake.replies['/verify'] = json({ isValid: true })
      expect(await facilitator.verify(newPayment(), REQUIREMENTS)).toEqual({ verdict: 'valid' })
      expect(fake.asked.map(({ path }) => path)).not.toContain('/settle')
    })

    test('payments that hold every connection do not hold back our own question', async () => {
      let answer = () => {}
      const held: Reply = response => {
        answer = () => json({ isValid: true })(response)
      }
      const { fake, facilitator } = await start(
        { '/verify': held },
        { connectionsMax: 1, supportedTimeoutMs: 20_000, exchange },
      )
      const blocking = facilitator.verify(newPayment(), REQUIREMENTS)
      await fake.askedTimes('/verify', 1)
      expect(await facilitator.isUp()).toBe(true)
      answer()
      expect(await blocking).toEqual({ verdict: 'valid' })
    })

    test('closing lets a settle in flight end', async () => {
      const settles: Reply = response => {
        void facilitator.close()
        json({ success: true, transaction: 'TX' })(response)
      }
      const { fake, facilitator } = await start({ '/settle': settles }, { exchange })
      await facilitator.supported()
      expect(await facilitator.settle(newPayment(), REQUIREMENTS)).toEqual({ verdict: 'settled', txId: 'TX' })
      expect(fake.asked).toHaveLength(2)
    })
  },
)
