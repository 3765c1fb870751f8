/** The model of Redis that simulations run on: it keeps the charge store's promises, and does what a real Redis does. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisModel, redisModel } from '../../proof/simulation/stores/redis-model.js'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { redisChargeStore } from '../../src/adapters/redis/charge-store.js'
import { serverTime } from '../../src/adapters/redis/server-time.js'
import { chargeStoreContract } from '../../src/testing.js'
import { chargeStoreModelContract } from '../contracts/charge-store/model.js'
import { fieldsOf } from '../support/redis-transitions.js'
import { type VirtualRedis, virtualRedis } from '../support/redis-virtual.js'
import { advanceMs, answerTo, histories, made, PREFIX, type Side, sideOf } from './store-histories.js'

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
  ...['unsure', 'recorded', 'superseded', 'closed', 'completed', 'moved', '0', '1'],
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
  let redis: VirtualRedis
  beforeAll(async () => {
    redis = await virtualRedis()
  })
  afterAll(() => redis.stop())

  it('replies to 300 random histories as the scripts do, and stores the same', async () => {
    const seen = new Set<string>()
    const property = fc.asyncProperty(histories, async ({ holds, moves }) => {
      await redis.reset()
      const world = await redis.world()
      let nowMs = Number(await world.time.now())
      const now = () => nowMs
      const model = redisModel({ nowMs: now })
      const [modelled, real] = [model, world.connection].map(each => sideOf(each, now, world.prefix)) as [
        Side,
        Side,
      ]
      for (const step of moves) {
        if (step.kind === 'advance') {
          nowMs += advanceMs(step)
          await world.advance(advanceMs(step))
          continue
        }
        const hold = holds[step.who]!
        expect(await answerTo(modelled, hold, step)).toEqual(await answerTo(real, hold, step))
      }
      expect(modelled.replies).toEqual(real.replies)
      for (const reply of real.replies) seen.add(String(Array.isArray(reply) ? reply[0] : reply))
      expectTheSame(storedInModel(model, nowMs), await storedIn(redis, world.prefix))
    })
    await fc.assert(property, { numRuns: 300 })
    expect([...seen].sort()).toEqual(REPLIES.sort())
  }, 120_000)
})

interface Stored {
  readonly fields: Readonly<Record<string, string>>
  readonly leftMs: number
}

/** What is stored, by key; each string with a byte in each character. */
async function storedIn({ client }: VirtualRedis, prefix: string): Promise<Map<string, Stored>> {
  const stored = new Map<string, Stored>()
  for (const key of await client.keys(`${prefix}*`)) {
    const text = Object.entries(await fieldsOf(client, key)).map(([name, value]) => [
      name,
      value.toString('latin1'),
    ])
    stored.set(key, { fields: Object.fromEntries(text), leftMs: await client.pttl(key) })
  }
  return stored
}

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
