/** Random histories of several calls on a real Redis, against the reference and against the drawings. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { redisChargeStore } from '../../src/adapters/redis/charge-store.js'
import { type Connection, connect } from '../../src/adapters/redis/connection.js'
import { CLOSE } from '../../src/adapters/redis/lua/close.js'
import { OPEN } from '../../src/adapters/redis/lua/open.js'
import { PRELUDE } from '../../src/adapters/redis/lua/prelude.js'
import { RECORD } from '../../src/adapters/redis/lua/record.js'
import { RESOLVE } from '../../src/adapters/redis/lua/resolve.js'
import { claimTable } from '../../src/domain/machines/claim.machine.js'
import { paymentTable } from '../../src/domain/machines/payment.machine.js'
import { startRedis } from '../support/redis-server.js'
import { passed as advance } from '../support/redis-time.js'
import { type Seen, watched } from '../support/redis-transitions.js'
import { chargeStoreModelContract } from './charge-store/model.js'

/** The reference's clock stands still between steps; half a lease of real time may pass before that shows. */
const LEASE_MS = 1_500

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

const seen: Seen = new Set()

chargeStoreModelContract(
  'redis',
  () => {
    const prefix = `test-${randomUUID()}:`
    const store = watched(redisChargeStore(connection, prefix), connection, prefix, seen)
    return { store, advance, leaseMs: LEASE_MS }
  },
  { runs: 2, atOnce: 60 },
)

describe('the drawings in Redis', () => {
  it('those histories made many kinds of transitions, all of them drawn', () => {
    const kinds = ['absent -> inProgress', 'inProgress -> settling', 'inProgress -> absent']
    const ends = ['settling -> completed', 'settling -> absent', 'inProgress -> completed']
    const claims = [...kinds, ...ends].map(kind => `claim ${kind}`)
    const payments = ['free -> held', 'held -> settling', 'held -> free', 'settling -> spent'].map(
      kind => `payment ${kind}`,
    )
    expect([...seen]).toEqual(expect.arrayContaining([...claims, ...payments]))
  })

  it('are the tables that every script carries, row for row', async () => {
    const tables = await connection.client.eval(`${PRELUDE} return cjson.encode({ CLAIM, PAYMENT })`, 0, '')
    const moves = ({ initial, rows }: typeof claimTable | typeof paymentTable) => ({
      initial,
      rows: Object.fromEntries(Object.entries(rows).map(([state, { on }]) => [state, { ...on }])),
    })
    expect(JSON.parse(String(tables))).toEqual([moves(claimTable), moves(paymentTable)])
    for (const script of [OPEN, RECORD, CLOSE, RESOLVE]) expect(script.startsWith(PRELUDE)).toBe(true)
  })

  it('are the only way to a state: nothing but an event of theirs is ever assigned', () => {
    for (const script of [OPEN, RECORD, CLOSE, RESOLVE]) {
      expect(script.match(/\.state = .*/g)).toEqual(['.state = state'])
      expect(script.match(/'state', .*?[,)]/g)).toEqual(["'state', 'token',", "'state', record.state,"])
    }
  })

  it('stop a script at an event that is not theirs, before it has written anything', async () => {
    const script = `${PRELUDE}
      local claim = new(CLAIM, KEYS[1])
      move(claim, 'completed')
      keep(claim)`
    const wrong = connection.client.eval(script, 1, 'test-undrawn', 'c', 'token')
    await expect(wrong).rejects.toThrow('absent does not list the event completed')
    expect(await connection.client.exists('test-undrawn')).toBe(0)
  })
})
