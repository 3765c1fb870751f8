/** Random histories of several calls on a real Redis, against the decision and against the drawings. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CLOSE, OPEN, RECORD, RENEW, RESOLVE } from '../../src/adapters/redis/lua/charge-moves.js'
import { PRELUDE } from '../../src/adapters/redis/lua/prelude.js'
import { DROP, LOOK, SELL, UNITS } from '../../src/adapters/redis/lua/units.js'
import { claimTable } from '../../src/domain/machines/claim.machine.js'
import { paymentTable } from '../../src/domain/machines/payment.machine.js'
import { subscriptionTable } from '../../src/domain/machines/subscription.machine.js'
import { type VirtualRedis, virtualRedis } from '../support/redis-virtual.js'
import { heldToDecision } from './charge-store/held-to-decision.js'
import { balanceHistories } from './charge-store/histories.js'

/** `HISTORIES=100000` before a change of the scripts is released. */
const HISTORIES = Number(process.env.HISTORIES ?? 2_000)

/** Every answer that a move has, but for what the bounds of a store make of it: `notKept` and `full`. */
const ANSWERS = [
  ...['opened', 'reused', 'replayable', 'orphaned', 'inProgress', 'spent', 'inUse', 'unsure'],
  ...['recorded', 'superseded', 'closed', 'completed', 'moved', 'true', 'false'],
  'Redis came to this move after its deadline',
]

const ANSWERS_OF_A_BALANCE = [
  ...[
    'taken',
    'short',
    'none',
    'left',
    'undefined',
    'opened',
    'reused',
    'replayable',
    'notKept',
    'inProgress',
  ],
  ...['closed', 'superseded', 'true', 'false'],
  'Redis came to this move after its deadline',
]

let redis: VirtualRedis
beforeAll(async () => {
  redis = await virtualRedis()
})
afterAll(() => redis.stop())

it(`the scripts answer ${HISTORIES} random histories as the decision does, and store the same`, async () => {
  const seen = await heldToDecision(redis, HISTORIES)
  expect([...seen].sort()).toEqual(ANSWERS.sort())
}, 600_000)

it(`and ${HISTORIES} of calls on one balance`, async () => {
  const seen = await heldToDecision(redis, HISTORIES, balanceHistories)
  expect([...seen].sort()).toEqual(ANSWERS_OF_A_BALANCE.sort())
}, 600_000)

describe('the drawings in Redis', () => {
  it('are the tables that every script carries, row for row', async () => {
    const lua = `${PRELUDE}${UNITS} return cjson.encode({ CLAIM, PAYMENT, UNITS })`
    const tables = await redis.client.eval(lua, 1, 'clock', 'u')
    const moves = ({
      initial,
      rows,
    }: typeof claimTable | typeof paymentTable | typeof subscriptionTable) => ({
      initial,
      rows: Object.fromEntries(Object.entries(rows).map(([state, { on }]) => [state, { ...on }])),
    })
    expect(JSON.parse(String(tables))).toEqual([claimTable, paymentTable, subscriptionTable].map(moves))
    for (const script of [OPEN, RECORD, CLOSE, RESOLVE]) expect(script.startsWith(PRELUDE)).toBe(true)
  })

  it('are the only way to a state: nothing but an event of theirs is ever assigned', () => {
    for (const script of [OPEN, RECORD, CLOSE, RESOLVE, RENEW, SELL, LOOK, DROP]) {
      expect(script.match(/\.state = .*/g)).toEqual(['.state = state'])
      const read = script.includes(UNITS) ? ["'state', 'unused',"] : []
      expect(script.match(/'state', .*?[,)]/g)).toEqual([
        "'state', 'token',",
        "'state', record.state,",
        ...read,
      ])
    }
  })

  it('stop a script at an event that is not theirs, before it has written anything', async () => {
    const script = `${PRELUDE}
      local claim = new(CLAIM, KEYS[1])
      move(claim, 'completed')
      keep(claim)`
    const wrong = redis.client.eval(script, 1, 'test-undrawn', 'c', 'token')
    await expect(wrong).rejects.toThrow('absent does not list the event completed')
    expect(await redis.client.exists('test-undrawn')).toBe(0)
  })
})
