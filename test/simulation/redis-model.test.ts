/** The model of Redis that simulations run on: it keeps the charge store's promises, and does what a real Redis does. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisModel, redisModel } from '../../simulation/stores/redis-model.js'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { redisChargeStore } from '../../src/adapters/redis/charge-store.js'
import { type Connection, connect } from '../../src/adapters/redis/connection.js'
import { serverTime } from '../../src/adapters/redis/server-time.js'
import { chargeStoreContract } from '../../src/testing.js'
import { chargeStoreModelContract } from '../contracts/charge-store/model.js'
import { startRedis } from '../support/redis-server.js'
import { advanceMs, answerTo, histories, made, PREFIX, sideOf } from './store-histories.js'
import { type Stored, storedIn, turn, underVirtualTime } from './virtual-redis.js'

const onModel = () => {
  let nowMs = Date.UTC(2026, 0, 1)
  const model = redisModel({ nowMs: () => nowMs })
  const store = redisChargeStore(
    model,
    PREFIX,
    serverTime(model, () => nowMs),
  )
  // A key is there through the whole millisecond in which it expires.
  const advance = (ms: number) => {
    nowMs += ms + 1
  }
  return { store, advance, leaseMs: 1_000 }
}

chargeStoreContract({ describe, expect, it }, 'the model of Redis', onModel)
chargeStoreModelContract('the model of Redis', onModel, { runs: 1_500 })

/** Real time goes on for the lives of keys while a history is replayed. */
const LIVES_DIFFER_MS = 20_000

/** Every reply that a script has. */
const REPLIES = [
  ...['opened', 'reused', 'replayable', 'orphaned', 'inProgress', 'spent', 'inUse', 'late'],
  ...['recorded', 'superseded', 'closed', 'completed', 'moved', '0', '1'],
]

it('memory answers 1000 random histories as the scripts do', async () => {
  const property = fc.asyncProperty(histories, async ({ holds, moves }) => {
    let nowMs = Date.UTC(2026, 0, 1)
    const { inTime } = sideOf(redisModel({ nowMs: () => nowMs }), () => nowMs)
    const memory = memoryChargeStore({ clock: { monotonic: () => nowMs } })
    for (const step of moves) {
      if (step.kind === 'advance') {
        nowMs += advanceMs(step)
        continue
      }
      const hold = holds[step.who]!
      expect(plain(await made(memory, hold, step))).toEqual(plain(await made(inTime, hold, step)))
    }
  })
  await fc.assert(property, { numRuns: 1_000 })
})

/** Memory keeps answers in arrays, and Redis gives them in Buffers. */
function plain(answer: unknown): unknown {
  if (answer instanceof Uint8Array) return Array.from(answer)
  if (typeof answer !== 'object' || answer === null) return answer
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, plain(value)]))
}

describe('the model beside a real Redis', () => {
  let redis: Awaited<ReturnType<typeof startRedis>>
  let connection: Connection
  beforeAll(async () => {
    redis = await startRedis({ settings: [] })
    connection = connect(redis.url, { commandTimeoutMs: 5_000 })
    await connection.send(client => client.ping())
  })
  afterAll(async () => {
    await connection.close()
    await redis.stop()
  })

  it('replies to 300 random histories as the scripts do, and stores the same', async () => {
    const seen = new Set<string>()
    const property = fc.asyncProperty(histories, async ({ holds, moves }) => {
      let nowMs = Date.UTC(2026, 0, 1)
      const now = () => nowMs
      await connection.client.flushall()
      await turn(connection, PREFIX, nowMs, 0)
      const model = redisModel({ nowMs: now })
      const [modelled, real] = [sideOf(model, now), sideOf(underVirtualTime(connection), now)]
      for (const step of moves) {
        if (step.kind === 'advance') {
          nowMs += advanceMs(step)
          await turn(connection, PREFIX, nowMs, advanceMs(step))
          continue
        }
        const hold = holds[step.who]!
        expect(await answerTo(modelled, hold, step)).toEqual(await answerTo(real, hold, step))
      }
      expect(modelled.replies).toEqual(real.replies)
      for (const reply of real.replies) seen.add(String(Array.isArray(reply) ? reply[0] : reply))
      expectTheSame(storedInModel(model, nowMs), await storedIn(connection, PREFIX))
    })
    await fc.assert(property, { numRuns: 300 })
    expect([...seen].sort()).toEqual(REPLIES.sort())
  }, 120_000)
})

function storedInModel(model: RedisModel, nowMs: number): Map<string, Stored> {
  const hashes = [...model.stored()].map(([key, { fields, expiresAtMs }]) => {
    return [key, { fields: Object.fromEntries(fields), leftMs: expiresAtMs - nowMs }] as const
  })
  return new Map(hashes)
}

function expectTheSame(inModel: Map<string, Stored>, inRedis: Map<string, Stored>): void {
  const fields = (stored: Map<string, Stored>) =>
    new Map([...stored].map(([key, { fields }]) => [key, fields] as const))
  expect(fields(inModel)).toEqual(fields(inRedis))
  for (const [key, { leftMs }] of inModel) {
    expect(Math.abs(leftMs - inRedis.get(key)!.leftMs), `life of ${key}`).toBeLessThan(LIVES_DIFFER_MS)
  }
}
