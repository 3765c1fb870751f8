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

    it('a balance that is sold again knows what all calls of the one before have reserved', async s => {
      const store = s.store as UnitsChargeStore
      const { slot, leaseMs } = s
      const sell = async () =>
        store.sell({ slot, units: 10, expiresAtMs: Math.ceil((await store.now!()) + 3 * leaseMs) })
      const take = (token: string, units: number) =>
        store.open({ ...s.call(token, { key: token, payment: null }), hasUnits: true, leaseMs, take: units })
      await sell()
      for (const token of ['a', 'b']) await take(token, 4)
      await store.drop(slot)
      await sell()
      expect(await take('c', 3)).toEqual({
        verdict: 'opened',
        units: { verdict: 'short', unused: 10, free: 2 },
      })
      await s.advance(leaseMs)
      expect(await take('d', 10)).toEqual({ verdict: 'opened', units: { verdict: 'taken', unused: 10 } })
    })
  })
}
