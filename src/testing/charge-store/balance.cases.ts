import type { Hold, UnitsChargeStore } from '../../ports/charge-store.js'
import { bytes, type Cases, replayed, type Scene } from './fixture.js'

const short = (unused: number, free: number) => ({
  verdict: 'opened',
  units: { verdict: 'short', unused, free },
})
const TAKEN = { verdict: 'opened', units: { verdict: 'taken', unused: 10 } }
const NONE = { verdict: 'opened', units: { verdict: 'none' } }
const closed = (unused: number) => ({ verdict: 'closed', unused })

/** Units of a balance: what calls take, what is counted and what comes back. */
export function balanceCases({ expect, it: test }: Cases): void {
  const it = (title: string, body: (b: Balance) => Promise<void>) =>
    test(title, async s => body(await balance(s)))

  it('is sold once: a sale that is sent again, or comes after the end, restores nothing', async b => {
    expect(await b.left()).toEqual([10, 10])
    await b.counted('a', 4)
    await b.sell()
    expect(await b.left()).toEqual([6, 6])
    await b.advance(b.periodMs)
    await b.sell()
    expect(await b.left()).toBe(undefined)
    expect(await b.take('late', 1)).toEqual(NONE)
  })

  it('that proved to be unpaid is gone', async b => {
    await b.store.drop(b.slot)
    expect(await b.left()).toBe(undefined)
    expect(await b.take('a', 1)).toEqual(NONE)
    expect(await b.count('a', 1)).toEqual({ verdict: 'closed' })
  })

  it('reserves where the claim opens, and says what is unused; without a take it is as it was', async b => {
    expect(await b.take('a', 7)).toEqual(TAKEN)
    expect(await b.take('b', 4)).toEqual(short(10, 3))
    expect(await b.take('c')).toEqual({ verdict: 'opened' })
    expect(await b.left()).toEqual([10, 3])
  })

  it('gives the last unit to one of many', async b => {
    const opened = await Promise.all(Array.from({ length: 15 }, (_, at) => b.take(`t${at}`, 1)))
    const verdicts = opened.map(one => one.verdict === 'opened' && one.units!.verdict)
    expect(verdicts.filter(verdict => verdict === 'taken').length).toBe(10)
    expect(verdicts.filter(verdict => verdict === 'short').length).toBe(5)
  })

  it('a take that is sent again by its token replaces its reservation', async b => {
    await b.take('a', 7)
    expect(await b.take('a', 7)).toEqual(TAKEN)
    expect((await b.left())![1]).toBe(3)
    await b.take('a', 10)
    expect((await b.left())![1]).toBe(0)
    expect(await b.take('a', 11)).toEqual(short(10, 10))
    expect((await b.left())![1]).toBe(10)
  })

  it('a key that is at work, done, or of another body takes nothing', async b => {
    await b.take('a', 3)
    expect((await b.take('b', 3, { key: 'a' })).verdict).toBe('inProgress')
    expect((await b.take('b', 3, { key: 'a', body: 'another body' })).verdict).toBe('reused')
    await b.count('a', 3)
    expect(replayed(await b.take('b', 3, { key: 'a' }))).toBe('answer')
    expect(await b.left()).toEqual([7, 7])
  })

  it('counts what the call cost with its answer, and gives the rest back', async b => {
    await b.take('a', 7)
    expect(await b.count('a', 2)).toEqual(closed(8))
    expect(await b.left()).toEqual([8, 8])
    expect(replayed(await b.take('again', 7, { key: 'a' }))).toBe('answer')
  })

  it('counts once, however often it is sent, also as a close; a close alone counts, too', async b => {
    const close = (token: string, charge: number) =>
      b.store.close({
        ...{ ...b.call(token), how: 'complete', charge },
        ...{ retentionMs: b.retentionMs, answer: bytes('answer') },
      })
    await b.take('a', 7)
    for (let sent = 0; sent < 3; sent++) expect(await b.count('a', 7)).toEqual(closed(3))
    await b.take('b', 2)
    expect([await close('a', 7), await close('b', 2)]).toEqual(['closed', 'closed'])
    expect(await b.left()).toEqual([1, 1])
  })

  it('a charge without an answer stays, and its key is not charged again', async b => {
    await b.take('a', 7)
    expect(await b.count('a', 7, null)).toEqual(closed(3))
    expect(await b.take('again', 1, { key: 'a' })).toEqual({ verdict: 'notKept' })
  })

  it('a release gives all back', async b => {
    await b.take('a', 7)
    await b.store.close({ ...b.call('a'), how: 'release', retentionMs: 0 })
    expect(await b.left()).toEqual([10, 10])
    expect(await b.count('a', 7)).toEqual({ verdict: 'superseded', unused: 10 })
  })

  it('a reservation lapses with its lease, and lives while it is renewed', async b => {
    await b.take('a', 4)
    await b.take('b', 4)
    await b.advance(b.leaseMs / 2)
    expect(await b.store.renew([b.call('b')], b.leaseMs)).toEqual([true])
    await b.advance(b.leaseMs / 2)
    expect(await b.left()).toEqual([10, 6])
    await b.advance(b.leaseMs / 2)
    expect(await b.left()).toEqual([10, 10])
  })

  it('a lapsed reservation that is renewed is reserved again', async b => {
    await b.take('a', 4)
    await b.advance(b.leaseMs)
    for (const sweeps of [true, false]) {
      if (sweeps) expect((await b.take('sweeper', 1, { key: `sweeper ${sweeps}` })).verdict).toBe('opened')
      await b.store.renew([b.call('a')], b.leaseMs)
      expect((await b.left())![1]).toBe(5)
    }
  })

  it('a count that comes late still counts, and never more than there is', async b => {
    await b.take('late', 8)
    await b.advance(b.leaseMs)
    await b.take('next', 7)
    expect(await b.count('late', 8)).toEqual(closed(2))
    expect(await b.left()).toEqual([2, 0])
    expect(await b.count('next', 7)).toEqual(closed(0))
    expect(await b.take('c', 1)).toEqual(short(0, 0))
  })

  it('where another call has the claim, nothing is counted, and the reservation is the other’s', async b => {
    await b.take('a', 4)
    await b.advance(b.leaseMs)
    await b.take('b', 6, { key: 'a' })
    expect(await b.count('a', 4)).toEqual({ verdict: 'superseded', unused: 10 })
    expect(await b.store.renew([b.call('a')], b.leaseMs)).toEqual([false])
    expect(await b.left()).toEqual([10, 4])
    expect(await b.count('b', 6, 'answer', { key: 'a' })).toEqual(closed(4))
    expect(await b.count('a', 4)).toEqual({ verdict: 'superseded', unused: 4 })
  })

  it('what was reserved before the end is honoured after it, and nothing that comes late restores it', async b => {
    await b.advance(b.periodMs - b.leaseMs)
    await b.take('a', 4)
    await b.take('b', 4)
    for (let passed = 0; passed < 4; passed++) {
      await b.store.renew([b.call('a')], b.leaseMs)
      await b.advance(b.leaseMs / 2)
    }
    expect(await b.take('c', 1)).toEqual(NONE)
    expect(await b.left()).toBe(undefined)
    expect(await b.count('a', 4)).toEqual(closed(6))
    expect(await b.count('b', 6)).toEqual(closed(0))
    await b.sell()
    expect(await b.left()).toBe(undefined)
  })

  it('refuses what is no count of units, and a negative charge is no gift', async b => {
    await b.take('a', 4)
    const lies = [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 1e30]
    const refused = (move: () => Promise<unknown>) =>
      move().then(
        () => 'made',
        () => 'refused',
      )
    for (const lie of lies) {
      expect(await refused(() => b.count('a', lie))).toBe('refused')
      expect(await refused(() => b.take('b', lie))).toBe('refused')
      const sale = { slot: `${b.slot} of ${lie}`, units: lie, expiresAtMs: b.endsAtMs }
      expect(await refused(() => b.store.sell(sale))).toBe('refused')
    }
    expect(await b.left()).toEqual([10, 6])
    expect(await b.count('a', 4)).toEqual(closed(6))
  })

  it('has four billion dollars of base units, to the last one', async b => {
    const most = 4_000_000_000_999_999
    const slot = `${b.slot} of many`
    await b.store.sell({ slot, units: most, expiresAtMs: b.endsAtMs })
    const call = { ...b.call('a'), slot }
    await b.store.open({ ...call, leaseMs: b.leaseMs, take: most - 2 })
    expect(await b.left(slot)).toEqual([most, 2])
    const count = { ...call, how: 'complete', charge: most - 4, retentionMs: b.retentionMs } as const
    expect(await b.store.count({ ...count, answer: bytes('answer') })).toEqual(closed(4))
  })
}

type Balance = Awaited<ReturnType<typeof balance>>

/** A balance of ten units, for three leases. */
async function balance({ advance, leaseMs, retentionMs, slot, store: given }: Scene) {
  const store = given as UnitsChargeStore
  const periodMs = 3 * leaseMs
  const endsAtMs = Math.ceil((await (store.now?.() ?? Date.now())) + periodMs)
  const sell = (units = 10) => store.sell({ slot, units, expiresAtMs: endsAtMs })
  /** Its key is its token, where none is given. */
  const call = (
    token: string,
    { key = token, body = 'body' }: { key?: string; body?: string } = {},
  ): Hold => ({ ...{ slot, token, hasUnits: true, claim: { name: key, bodyHash: body } } })
  const take = (token: string, units?: number, over?: { key?: string; body?: string }) =>
    store.open({ ...call(token, over), leaseMs, ...(units !== undefined && { take: units }) })
  const count = (token: string, charge: number, answer: string | null = 'answer', over?: { key?: string }) =>
    store.count({
      ...{ ...call(token, over), how: 'complete', charge, retentionMs },
      ...(answer !== null && { answer: bytes(answer) }),
    })
  await sell()
  return {
    ...{ advance, call, count, endsAtMs, leaseMs, periodMs, retentionMs, sell, slot, store, take },
    /** What is unused, and what is free of it; `undefined` where nothing can be taken. More is asked for than there can be. */
    async left(of = slot) {
      const asking = { ...call('asking'), slot: of }
      const opened = await store.open({ ...asking, leaseMs, take: Number.MAX_SAFE_INTEGER })
      await store.close({ ...asking, how: 'release', retentionMs })
      const units = opened.verdict === 'opened' ? opened.units : undefined
      return units?.verdict === 'short' ? [units.unused, units.free] : undefined
    },
    async counted(token: string, charge: number) {
      await take(token, charge)
      await count(token, charge)
    },
  }
}
