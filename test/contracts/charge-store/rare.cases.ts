/** What calls seldom come to, of a charge store that has balances: each of these was held by no other test of the stores. */
import type { OpenMove, UnitsChargeStore } from '../../../src/ports/charge-store.js'
import {
  bytes,
  casesOf,
  type MakeChargeStore,
  owed,
  replayed,
  type Scene,
} from '../../../src/testing/charge-store/fixture.js'
import type { TestRunner } from '../../../src/testing.js'

const ANSWER = 'a'.repeat(512 * 1_024)

export function rareCases(runner: TestRunner, name: string, make: MakeChargeStore): void {
  const { expect, it } = casesOf(runner, make)
  const openAs = (s: Scene, token: string, over: object, more: Partial<OpenMove>) =>
    s.store.open({ ...s.call(token, over), leaseMs: s.leaseMs, ...more })
  const bearer = { isBearer: true, caller: 'here' } as const

  runner.describe(`what calls seldom come to: ${name}`, () => {
    it('an answer under its payment’s own name leaves its name too, which says then what was paid', async s => {
      for (let at = 0; at < 10; at++)
        await s.ended(s.call(`t${at}`, { payment: `p${at}` }), 'forfeit', ANSWER, { answerName: `own-${at}` })
      const dropped = { verdict: 'notKept', txId: s.txId('p0') }
      expect(await openAs(s, 'b', { payment: 'p0' }, { answerName: 'own-0' })).toEqual(dropped)
    })

    it('a forfeited answer takes its name from no call that recorded, although that one stopped', async s => {
      const settling = { key: 'own', payment: 't' }
      await s.recorded(s.call('settling', settling), 'owed')
      await s.advance(s.leaseMs)
      await s.ended(s.call('a', { payment: 'u' }), 'forfeit', 'lost', { answerName: 'own' })
      expect(owed(await s.open(s.call('successor', settling)))).toBe('owed')
      expect(await s.open(s.call('next', { payment: 'v' }))).toEqual({ verdict: 'opened' })
    })

    it('an answer in doubt whose payment could not be read is its owner’s alone', async s => {
      await openAs(s, 'dead', {}, bearer)
      await s.record(s.call('dead'), 'owed', { recorded: { answer: bytes('owed') } })
      await s.advance(s.leaseMs)
      expect((await openAs(s, 'b', {}, bearer)).verdict).toBe('inUse')
      const opened = await s.open(s.call('c'))
      expect(owed(opened)).toBe('owed')
      expect(opened.verdict === 'orphaned' && opened.recorded.payment).toBe(undefined)
    })

    it('what was never opened is neither recorded nor renewed; a record after the end changes nothing', async s => {
      for (const over of [{}, { key: null, payment: 'q' }, { key: 'other', payment: null }]) {
        expect(await s.record(s.call('a', over))).toBe('superseded')
        expect(await s.renew(s.call('a', over))).toBe(false)
      }
      const a = await s.ended(s.call('a'), 'complete')
      expect(await s.record(a, 'another')).toBe('recorded')
      expect(replayed(await s.open(s.call('b')))).toBe('answer')
    })

    it('an answer that was taken over is nobody’s to change', async s => {
      await s.orphan('the answer')
      for (const token of ['successor', 'successor', 'next']) {
        const opened = await s.open(s.call(token))
        expect(owed(opened)).toBe('the answer')
        if (opened.verdict === 'orphaned') opened.recorded.answer.fill(0)
        await s.advance(s.leaseMs)
      }
    })

    it('after a dead payment a call goes on with one that it held already', async s => {
      await s.orphan()
      const successor = s.call('successor', { payment: 'q' })
      await s.open(s.call('successor', { key: null, payment: 'q' }))
      expect((await s.open(successor)).verdict).toBe('orphaned')
      expect(await s.resolve(successor, 'dead')).toBe('opened')
      expect(await s.record(successor)).toBe('recorded')
    })

    it('a balance that is sold again knows what all calls of the one before have reserved', async s => {
      const { drop, sell, take } = balanceOf(s)
      await sell()
      for (const token of ['a', 'b']) await take(token, 4)
      await drop()
      await sell()
      expect(await take('c', 3)).toEqual(short(2))
      await s.advance(s.leaseMs)
      expect(await take('d', 10)).toEqual(TAKEN)
    })

    it('a balance is not kept for a call that reserved nothing', async s => {
      const { call, sell, take } = balanceOf(s)
      await sell()
      await s.advance(2.5 * s.leaseMs)
      await take('a')
      await s.store.renew([call('a')], s.leaseMs)
      await s.advance(s.leaseMs / 2)
      await sell()
      expect(await take('b', 10)).toEqual(TAKEN)
    })

    it('what is left of a balance after a call is taken by the next, to the last unit; then even nothing is too much', async s => {
      const { count, sell, take } = balanceOf(s)
      await sell()
      for (const [token, units, unused, left] of [
        ['a', 0, 10, 10],
        ['b', 4, 10, 6],
        ['c', 6, 6, 0],
      ] as const) {
        expect(await take(token, units)).toEqual({ verdict: 'opened', units: { verdict: 'taken', unused } })
        expect(await count(token, units)).toEqual({ verdict: 'closed', unused: left })
      }
      expect(await take('d', 0)).toEqual({
        verdict: 'opened',
        units: { verdict: 'short', unused: 0, free: 0 },
      })
    })

    it('a charge that comes after the last unit is counted as nothing', async s => {
      const { count, sell, take } = balanceOf(s)
      await sell()
      await take('late', 8)
      await s.advance(s.leaseMs)
      await take('quick', 10)
      for (const token of ['quick', 'late'])
        expect(await count(token, 10)).toEqual({ verdict: 'closed', unused: 0 })
    })

    it('what a stopped call had reserved is not free twice for the call that takes its key', async s => {
      const { sell, take } = balanceOf(s)
      await sell()
      await take('a', 4)
      await s.advance(s.leaseMs)
      expect(await take('b', 11, 'a')).toEqual(short(10))
    })

    it('a completion without a charge counts nothing of a balance, and gives all back', async s => {
      const { call, sell, take } = balanceOf(s)
      await sell()
      await take('a', 7)
      expect(await s.close(call('a'), 'complete', 'answer')).toBe('closed')
      expect(await take('b', 10)).toEqual(TAKEN)
    })
  })
}

const TAKEN = { verdict: 'opened', units: { verdict: 'taken', unused: 10 } }
const short = (free: number) => ({ verdict: 'opened', units: { verdict: 'short', unused: 10, free } })

/** Ten units, for three leases. */
function balanceOf({ call: callOf, leaseMs, slot, store: given }: Scene) {
  const store = given as UnitsChargeStore
  const call = (token: string, key = token) => ({ ...callOf(token, { key, payment: null }), hasUnits: true })
  return {
    call,
    drop: () => store.drop(slot),
    sell: async () =>
      store.sell({ slot, units: 10, expiresAtMs: Math.ceil((await store.now!()) + 3 * leaseMs) }),
    take: (token: string, take?: number, key?: string) =>
      store.open({ ...call(token, key), leaseMs, ...(take !== undefined && { take }) }),
    count: (token: string, charge: number) =>
      store.count({ ...call(token), how: 'complete', charge, answer: bytes('answer'), retentionMs: leaseMs }),
  }
}
