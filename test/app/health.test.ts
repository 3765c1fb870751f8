import { expect, it } from 'vitest'
import { healthOf, readinessOf } from '../../src/app/server/health.js'
import { TESTNET } from '../../src/domain/network.js'
import { systemClock } from '../../src/ports/clock.js'
import { silentLogger } from '../../src/ports/logger.js'
import { systemRandom } from '../../src/ports/random.js'

const optionsOf = (reader: () => Promise<unknown>) =>
  ({
    agent: { handle: 'agent', payTo: 'SELLER', endpoints: [] },
    facilitators: [{ url: 'https://facilitator.example', status: {}, ready: async () => true }],
    healthChecks: {},
    deps: {
      reader,
      owner: { network: TESTNET },
      chain: { status: () => 'ok' },
      stop: { draining: () => false },
      store: { open: async () => ({ verdict: 'opened' }), close: async () => 'closed' },
      random: systemRandom,
      clock: systemClock,
      logger: silentLogger,
    },
  }) as never

it('a process that can read no payment is unhealthy and not ready: only a restart helps', async () => {
  const readable = optionsOf(async () => ({}))
  expect(await healthOf(readable)()).toMatchObject({ ok: true })
  expect(await readinessOf(readable)()).toEqual({ ok: true })
  const unreadable = optionsOf(() => Promise.reject(new Error('too many open files')))
  expect(await healthOf(unreadable)()).toMatchObject({ ok: false })
  expect(await readinessOf(unreadable)()).toMatchObject({ ok: false, why: [{ code: 'payments_unreadable' }] })
})
