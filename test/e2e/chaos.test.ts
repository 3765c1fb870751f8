/** The whole of it, for a minute; `npm run chaos` for ten. `SVC_CHAOS_SEED` repeats a schedule, `SVC_CHAOS_SECONDS` sets its length. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { chaos } from '../../proof/chaos/chaos.js'
import { type RedisPair, startRedisPair } from '../support/redis-pair.js'

const seconds = Number(process.env.SVC_CHAOS_SECONDS ?? 35)
const seed = Number(process.env.SVC_CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31))
/** Many times what mending takes: only a call that never ends reaches it. */
const SLACK_MS = 240_000

let redis: RedisPair
beforeAll(async () => {
  redis = await startRedisPair()
})
afterAll(() => redis.close())

it(
  `chaos: ledger, answers and claims agree (SVC_CHAOS_SEED=${seed})`,
  async () => {
    const { wrong, ...counts } = await chaos({ seed, durationMs: seconds * 1_000, redis })
    console.log(counts)
    expect(wrong, `SVC_CHAOS_SEED=${seed} npm run chaos`).toEqual([])
    expect(counts.charges).toBe(counts.keys)
    expect(counts.blows.failOver).toBeGreaterThan(0)
  },
  seconds * 1_000 + SLACK_MS,
)
