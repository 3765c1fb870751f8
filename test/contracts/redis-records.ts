/** What the charge store on Redis keeps of a call and for how long, as proof/storage.md says. */
import { expect } from 'vitest'
import { redisChargeStore } from '../../src/adapters/redis/charge-store.js'
import {
  KEPT_BYTES_MAX,
  KEPT_RECORD_BYTES,
  LAPSED_KEPT_MS,
} from '../../src/domain/machines/claim-and-payment.rules.js'
import { type Scene, scene } from '../../src/testing/charge-store/fixture.js'
import type { TestRunner } from '../../src/testing.js'
import { fieldsOf as storedFieldsOf } from '../support/redis-fields.js'
import type { VirtualRedis, World } from '../support/redis-virtual.js'

/** The end of a key is told by the server's real clock, which goes on while a test looks. */
const LOOKING_MS = 20_000

export function redisRecords({ describe, it }: TestRunner, redis: () => VirtualRedis): void {
  async function stored() {
    const world = await redis().world()
    const store = redisChargeStore(world.connection, world.prefix, world.time)
    const s = await scene(() => ({ store, advance: world.advance, leaseMs: 30_000 }))
    return { s, world, nowMs: () => world.time.now() }
  }

  /** The record of that kind with its life in whole seconds; `undefined` where there is none. */
  async function record({ prefix, keys }: World, kind: 'claim' | 'payment') {
    const { client } = redis()
    const name = (await keys()).find(key => key.includes(`:${kind}:`))
    if (name === undefined) return undefined
    const fields = Object.entries(await storedFieldsOf(client, prefix + name)).map(([field, value]) => [
      field,
      String(value),
    ])
    return {
      fields: Object.fromEntries(fields) as Record<string, string>,
      lifeMs: await client.pttl(prefix + name),
    }
  }

  async function livesFor(world: World, kind: 'claim' | 'payment', ms: number): Promise<void> {
    const { lifeMs } = (await record(world, kind))!
    expect(lifeMs, kind).toBeLessThanOrEqual(ms)
    expect(lifeMs, kind).toBeGreaterThan(ms - LOOKING_MS)
  }

  const fieldsOf = async (world: World, kind: 'claim' | 'payment') => (await record(world, kind))?.fields
  const held = (leaseEndsMs: number, more: object = {}) => ({
    state: 'inProgress',
    token: 'a',
    bodyHash: 'body',
    leaseEndsMs: String(leaseEndsMs),
    ...more,
  })
  const answered = (s: Scene) => ({
    answer: 'answer',
    recordedBy: 'a',
    txId: s.txId('p'),
    firstValid: '1',
    lastValid: '9007199254740993',
  })

  describe('what Redis keeps of a call', () => {
    it('at work: until a minute after its lease, which each renewal moves', async () => {
      const { s, world, nowMs } = await stored()
      await s.open(s.call('a'))
      const leaseEndsMs = (await nowMs()) + s.leaseMs
      expect(await fieldsOf(world, 'claim')).toEqual(held(leaseEndsMs))
      expect(await fieldsOf(world, 'payment')).toEqual({
        state: 'held',
        token: 'a',
        leaseEndsMs: String(leaseEndsMs),
      })
      for (const passedMs of [0, 30_000]) {
        await world.advance(passedMs)
        await s.renew(s.call('a'))
        await livesFor(world, 'claim', s.leaseMs + LAPSED_KEPT_MS)
        await livesFor(world, 'payment', s.leaseMs + LAPSED_KEPT_MS)
      }
    })

    it('settling: what a successor needs, for as long as the record said, whoever renews it', async () => {
      const { s, world, nowMs } = await stored()
      const a = s.call('a')
      await s.open(a)
      await world.advance(s.leaseMs / 2)
      await s.record(a)
      const lives = async () => {
        await livesFor(world, 'claim', 60 * s.leaseMs)
        await livesFor(world, 'payment', 50 * s.leaseMs)
      }
      const leaseEndsMs = (await nowMs()) + s.leaseMs
      const claim = held(leaseEndsMs, { state: 'settling', ...answered(s) })
      const payment = { state: 'settling', token: 'a', leaseEndsMs: String(leaseEndsMs) }
      for (const renewed of [false, true]) {
        if (renewed) await s.renew(a)
        await lives()
        expect(await fieldsOf(world, 'claim')).toEqual(claim)
        expect(await fieldsOf(world, 'payment')).toEqual(payment)
      }
    })

    it('settling without a payment that can be read: no transaction', async () => {
      const { s, world } = await stored()
      const a = s.call('a', { payment: null })
      await s.open(a)
      await s.record(a)
      expect(Object.keys((await fieldsOf(world, 'claim'))!).sort()).toEqual(
        ['answer', 'bodyHash', 'leaseEndsMs', 'recordedBy', 'state', 'token'].sort(),
      )
    })

    it('completed: the answer and its transaction for its window; the payment as long as before', async () => {
      const { s, world } = await stored()
      const a = s.call('a')
      await s.open(a)
      await s.record(a)
      await s.close(a, 'complete')
      const { firstValid, lastValid, ...kept } = answered(s)
      expect(await fieldsOf(world, 'claim')).toMatchObject({ state: 'completed', ...kept })
      for (const gone of ['firstValid', 'lastValid']) {
        expect(await fieldsOf(world, 'claim')).not.toHaveProperty(gone)
      }
      await livesFor(world, 'claim', s.retentionMs)
      expect(await fieldsOf(world, 'payment')).toMatchObject({ state: 'spent' })
      await livesFor(world, 'payment', 50 * s.leaseMs)
    })

    it('covered by a window: its answer for as long, and no payment', async () => {
      const { s, world } = await stored()
      const a = s.call('a')
      await s.open(a)
      await s.close(a, 'complete', 'covered')
      expect(await fieldsOf(world, 'claim')).toMatchObject({ state: 'completed', answer: 'covered' })
      await livesFor(world, 'claim', s.retentionMs)
      expect(await record(world, 'payment')).toBeUndefined()
    })

    it('released: nothing; forfeited: the payment alone', async () => {
      for (const how of ['release', 'forfeit'] as const) {
        const { s, world } = await stored()
        const a = s.call('a')
        await s.open(a)
        await s.record(a)
        await s.close(a, how)
        expect(await record(world, 'claim')).toBeUndefined()
        expect((await fieldsOf(world, 'payment'))?.state).toBe(how === 'forfeit' ? 'spent' : undefined)
      }
    })

    it('found on the chain: the answer and its transaction for its window', async () => {
      const { s, world } = await stored()
      const dead = await s.orphan()
      const successor = { ...dead, token: 'a' }
      await s.open(successor)
      expect(await s.resolve(successor, 'found')).toBe('completed')
      const claim = (await fieldsOf(world, 'claim'))!
      expect(claim).toMatchObject({ state: 'completed', answer: 'answer' })
      expect(claim).toHaveProperty('txId')
      await livesFor(world, 'claim', s.retentionMs)
      expect(await fieldsOf(world, 'payment')).toMatchObject({ state: 'spent' })
    })

    it('dead on the chain: the successor at work, and nothing of the call before it', async () => {
      const { s, world, nowMs } = await stored()
      const dead = await s.orphan()
      const successor = { ...dead, token: 'a' }
      await s.open(successor)
      expect(await s.resolve(successor, 'dead')).toBe('opened')
      expect(await fieldsOf(world, 'claim')).toEqual(held((await nowMs()) + s.leaseMs))
      expect(await fieldsOf(world, 'payment')).toMatchObject({ state: 'held', token: 'a' })
      await livesFor(world, 'claim', s.leaseMs + LAPSED_KEPT_MS)
      await livesFor(world, 'payment', s.leaseMs + LAPSED_KEPT_MS)
    })

    it('dead on the chain, and another payment taken: the dead one is forgotten', async () => {
      const { s, world } = await stored()
      await s.orphan()
      const successor = s.call('a', { payment: 'q' })
      await s.open(successor)
      await s.resolve(successor, 'dead')
      const payments = (await world.keys()).filter(key => key.includes(':payment:'))
      expect(payments.map(key => key.split(':payment:')[1])).toEqual([s.txId('q')])
    })

    it('dead on the chain, and the presented payment another’s: neither the key nor the dead payment', async () => {
      for (const spent of [false, true]) {
        const { s, world } = await stored()
        await s.orphan()
        const other = s.call('other', { key: null, payment: 'q' })
        const successor = s.call('a', { payment: 'q' })
        await s.open(successor)
        await s.open(other)
        if (spent) {
          await s.record(other)
          await s.close(other, 'complete')
        }
        expect(await s.resolve(successor, 'dead')).toBe(spent ? 'spent' : 'moved')
        expect((await world.keys()).map(key => key.split('}:')[1])).toEqual([`payment:${s.txId('q')}`])
      }
    })
  })

  describe('what Redis keeps of a balance', () => {
    const END_MS = 300_000

    /** A balance of ten units, and its calls, whose leases need not be equal: a deploy may change their length. */
    async function balance() {
      const { world, s } = await stored()
      const store = redisChargeStore(world.connection, world.prefix, world.time)
      const { slot } = s
      const call = (token: string) => ({
        ...{ slot, token, hasUnits: true, claim: { name: token, bodyHash: 'body' } },
      })
      const take = (token: string, units: number, leaseMs: number) =>
        store.open({ ...call(token), leaseMs, take: units })
      const sell = async (forMs = END_MS) =>
        store.sell({ slot, units: 10, expiresAtMs: (await world.time.now()) + forMs })
      await sell()
      return {
        ...{ store, slot, take, sell, advance: world.advance },
        renew: (token: string, leaseMs: number) => store.renew([call(token)], leaseMs),
        release: (token: string) => store.close({ ...call(token), how: 'release', retentionMs: 0 }),
        count: (token: string, charge: number) =>
          store.count({ ...call(token), how: 'complete', charge, retentionMs: 1_000 }),
        /** Of the balance and of what is reserved, in steps of ten seconds: real time goes on. */
        async livesMs() {
          const names = await world.keys()
          const of = (end: string) => names.find(name => name.endsWith(end))
          const lives = [':units', ':reserved'].map(async end => {
            const name = of(end)
            return name === undefined ? undefined : redis().client.pttl(world.prefix + name)
          })
          return (await Promise.all(lives)).map(ms => ms && Math.round(ms / 10_000) * 10_000)
        },
      }
    }

    it('is there for the longest of the calls that reserved before its end, and what is reserved as long', async () => {
      const b = await balance()
      expect(await b.livesMs()).toEqual([END_MS, undefined])
      await b.take('short', 1, 1_000)
      expect(await b.livesMs()).toEqual([END_MS, END_MS])
      await b.take('long', 4, END_MS)
      const longMs = END_MS + LAPSED_KEPT_MS
      expect(await b.livesMs()).toEqual([longMs, longMs])
      await b.take('short again', 1, 1_000)
      expect(await b.livesMs()).toEqual([longMs, longMs])
      await b.advance(END_MS - 10_000)
      await b.take('last', 1, 1_000)
      const leftMs = longMs - END_MS + 10_000
      expect(await b.livesMs()).toEqual([leftMs, leftMs])
      await b.advance(20_000)
      expect(await b.count('long', 4)).toEqual({ verdict: 'closed', unused: 6 })
    })

    it('gives nothing of what a call had reserved that lapsed and is renewed, also shortly before its end', async () => {
      for (const leftMs of [END_MS, LAPSED_KEPT_MS]) {
        const b = await balance()
        await b.advance(END_MS - leftMs)
        await b.take('stood still', 4, 1_000)
        await b.advance(1_000)
        await b.take('next', 1, 10_000)
        await b.renew('stood still', 10_000)
        const units = { verdict: 'short', unused: 10, free: 5 }
        expect(await b.take('too much', 6, 10_000)).toMatchObject({ units })
      }
    })

    it('gives nothing from its end on, though it is there for the calls before', async () => {
      const b = await balance()
      await b.take('before', 4, END_MS)
      await b.advance(END_MS - 1)
      expect(await b.take('last', 1, 1_000)).toMatchObject({ units: { verdict: 'taken' } })
      await b.advance(1)
      expect(await b.take('late', 1, 1_000)).toMatchObject({ units: { verdict: 'none' } })
    })

    it('forgets what lapsed, although it was reserved of the balance before', async () => {
      const b = await balance()
      await b.take('stopped', 4, 1_000)
      await b.store.drop(b.slot)
      await b.sell()
      expect(await b.livesMs()).toEqual([END_MS, END_MS])
      await b.advance(2 * LAPSED_KEPT_MS)
      expect(await b.take('next', 10, 1_000)).toMatchObject({ units: { verdict: 'taken', unused: 10 } })
    })

    it('keeps what is reserved for its call also where it is sold again for a shorter time', async () => {
      const b = await balance()
      await b.take('long', 4, END_MS)
      await b.store.drop(b.slot)
      await b.sell(100_000)
      expect(await b.livesMs()).toEqual([100_000, END_MS + LAPSED_KEPT_MS])
    })

    it('forgets what lapsed also where it is sold again for a longer time', async () => {
      const b = await balance()
      await b.store.drop(b.slot)
      await b.sell(100_000)
      await b.take('stopped', 4, 1_000)
      await b.store.drop(b.slot)
      await b.sell()
      expect(await b.livesMs()).toEqual([END_MS, END_MS])
      await b.advance(200_000)
      expect(await b.take('next', 10, 1_000)).toMatchObject({ units: { verdict: 'taken', unused: 10 } })
    })

    it('keeps what is reserved as long as itself, also where nothing was since the last one', async () => {
      const b = await balance()
      await b.take('long', 4, END_MS)
      await b.advance(END_MS - 50_000)
      await b.release('long')
      await b.take('short', 4, 1_000)
      const [unitsMs, reservedMs] = await b.livesMs()
      expect(reservedMs).toBe(unitsMs)
    })
  })

  describe('what Redis keeps of an owner’s answers', () => {
    /** So many of them, and an older one, are exactly the budget. */
    const SEVERAL = 8
    const ANSWER = 'a'.repeat(KEPT_BYTES_MAX / SEVERAL - KEPT_RECORD_BYTES)

    const complete = (s: Scene, key: string, answer = ANSWER, retentionMs = 10 * s.retentionMs) =>
      s.ended(s.call(key, { key, payment: key }), 'complete', answer, { retentionMs })
    const verdictsOf = async (s: Scene, keys: readonly string[]) => {
      const opened = []
      for (const key of keys) opened.push(await s.open(s.call('reader', { key, payment: null })))
      return opened.map(({ verdict }) => verdict)
    }
    const several = Array.from({ length: SEVERAL }, (_, at) => `key-${at}`)

    it('is dropped from the oldest on where the newer ones take the whole budget, and not a byte before', async () => {
      for (const [spared, verdict] of [
        [0, 'notKept'],
        [1, 'replayable'],
      ] as const) {
        const { s } = await stored()
        await complete(s, 'oldest', 'o')
        for (const key of several.slice(1)) await complete(s, key)
        expect(await verdictsOf(s, ['oldest'])).toEqual(['replayable'])
        await complete(s, several[0]!, ANSWER.slice(spared))
        expect(await verdictsOf(s, ['oldest', ...several])).toEqual([
          verdict,
          ...Array(SEVERAL).fill('replayable'),
        ])
      }
    })

    it('is a list that lives as long as the answer that is kept longest', async () => {
      const { s, world } = await stored()
      for (const [key, retentionMs, lifeMs] of [
        ['first', 20_000, 20_000],
        ['longer', 60_000, 60_000],
        ['shorter', 10_000, 60_000],
      ] as const) {
        await complete(s, key, 'answer', retentionMs)
        const list = (await world.keys()).find(name => name.endsWith(':kept'))!
        const leftMs = await redis().client.pttl(world.prefix + list)
        expect(leftMs, key).toBeLessThanOrEqual(lifeMs)
        expect(leftMs, key).toBeGreaterThan(lifeMs - LOOKING_MS)
      }
    })

    it('touches nothing where an answer of the list has ended since, or another call is at work under its key', async () => {
      const { s } = await stored()
      for (const key of ['gone', 'again']) await complete(s, key, ANSWER, s.retentionMs)
      await complete(s, 'lasting', 'answer')
      await s.advance(s.retentionMs)
      const atWork = await s.opened(s.call('at work', { key: 'again', payment: 'another' }))
      for (const key of several) await complete(s, key)
      expect(await verdictsOf(s, ['lasting', ...several])).toEqual([
        'notKept',
        ...Array(SEVERAL).fill('replayable'),
      ])
      expect(await s.renew(atWork)).toBe(true)
    })
  })
}
