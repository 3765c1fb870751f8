/** What the memory stores promise beyond their contracts, on a clock that stands still: exact leases, and room that comes back. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memoryChargeStore, storesOf } from '../../src/adapters/memory/charge-store.js'
import { memoryCounters } from '../../src/adapters/memory/counters.js'
import { spentByTime } from '../../src/adapters/memory/spend-ledger.js'
import { memorySubscriptions } from '../../src/adapters/memory/subscriptions.js'
import { systemClock } from '../../src/ports/clock.js'
import { perMinute } from '../../src/ports/counters.js'
import { heapBytes } from '../support/heap-bytes.js'

const LEASE_MS = 1_000

function charges(callsMax: number) {
  let nowMs = 5_000
  const store = memoryChargeStore({ clock: { now: Date.now, monotonic: () => nowMs }, callsMax })
  const hold = (at: number, over: object = {}) => ({
    slot: 's',
    token: `t${at}`,
    claim: { name: `k${at}`, bodyHash: 'b' },
    payment: `p${at}`,
    leaseMs: LEASE_MS,
    ...over,
  })
  const open = async (at: number, over: object = {}) => (await store.open(hold(at, over))).verdict
  const record = (at: number) => {
    const lives = { leaseMs: LEASE_MS, paymentTtlMs: 3_600_000, claimTtlMs: 7_200_000 }
    return store.record({ ...hold(at), ...lives, recorded: { answer: new Uint8Array(1) } })
  }
  const advance = (ms: number) => {
    nowMs += ms
  }
  /** Opens calls until the store is full: how many there was room for. */
  const room = async (begin: number, over: object = {}) => {
    let at = begin
    while (at < begin + 2 * callsMax && (await open(at, over)) === 'opened') at++
    return at - begin
  }
  return { store, hold, open, record, advance, room }
}

describe('the leases of the charge store', () => {
  it('begin anew with the recording, for the claim and for the payment', async () => {
    const { store, hold, open, record, advance } = charges(10)
    await open(0)
    advance(LEASE_MS / 2)
    await record(0)
    const refused = { retryAfterMs: LEASE_MS }
    expect(await store.open(hold(1, { claim: undefined, payment: 'p0' }))).toEqual({
      verdict: 'inUse',
      ...refused,
    })
    expect(await store.open(hold(1, { claim: hold(0).claim }))).toEqual({ verdict: 'inProgress', ...refused })
  })

  it('keep a call at work for as long as it renews them', async () => {
    const { store, hold, open, advance } = charges(10)
    await open(0)
    for (let passedMs = 0; passedMs < 180_000; passedMs += LEASE_MS - 1) {
      advance(LEASE_MS - 1)
      expect(await store.renew([hold(0)], LEASE_MS)).toEqual([true])
    }
    expect(await open(1, { claim: hold(0).claim })).toBe('inProgress')
    expect(await open(1, { claim: undefined, payment: 'p0' })).toBe('inUse')
  })

  it('keep the balance of a call that renews them, long after its end', async () => {
    const { store, advance } = charges(10)
    const call = { slot: 's', token: 't', hasUnits: true, claim: { name: 'k', bodyHash: 'b' } }
    await store.sell({ slot: 's', units: 10, expiresAtMs: (await store.now!()) + LEASE_MS })
    await store.open({ ...call, leaseMs: LEASE_MS, take: 4 })
    for (let passedMs = 0; passedMs < 180_000; passedMs += LEASE_MS - 1) {
      advance(LEASE_MS - 1)
      expect(await store.renew([call], LEASE_MS)).toEqual([true])
    }
    const counted = { ...call, how: 'complete', charge: 4, retentionMs: LEASE_MS } as const
    expect(await store.count(counted)).toEqual({ verdict: 'closed', unused: 6 })
  })

  it('are not the life of a balance, which ends with its period', async () => {
    const { store, advance } = charges(10)
    const call = { slot: 's', hasUnits: true, leaseMs: LEASE_MS }
    await store.sell({ slot: 's', units: 10, expiresAtMs: (await store.now!()) + 3_600_000 })
    for (const at of [1, 2]) {
      const claim = { name: `k${at}`, bodyHash: 'b' }
      expect(await store.open({ ...call, token: `t${at}`, claim, take: 10 })).toMatchObject({
        units: { verdict: 'taken' },
      })
      advance(600_000)
    }
  })

  it('are followed by a minute in which a lapsed call may still record, however long it worked', async () => {
    const { store, hold, open, record, advance, room } = charges(10)
    await open(0)
    await open(1)
    for (let passedMs = 0; passedMs < 180_000; passedMs += LEASE_MS) {
      await store.renew([hold(0), hold(1)], LEASE_MS)
      advance(LEASE_MS)
    }
    advance(59_000)
    expect(await record(0)).toBe('recorded')
    advance(120_000)
    expect(await record(1)).toBe('superseded')
    expect(await room(100)).toBe(10)
  })

  it('shorten the life of nothing that is recorded', async () => {
    const { store, hold, open, record, advance } = charges(10)
    await open(0)
    await record(0)
    await store.renew([hold(0)], LEASE_MS)
    advance(600_000)
    expect(await open(1, { claim: undefined, payment: 'p0' })).toBe('inUse')
    expect(await open(1, { claim: hold(0).claim })).toBe('orphaned')
  })
})

describe('a balance in memory', () => {
  it('says what is no count of units', async () => {
    const { store } = charges(10)
    const sale = { slot: 's', units: -1, expiresAtMs: (await store.now!()) + 1_000 }
    await expect(store.sell(sale)).rejects.toThrow('units are a whole number from 0; this is -1')
  })
})

describe('a claim in memory', () => {
  it('is of its slot: one of the same name in another slot is another, also right after it', async () => {
    const { store, hold, open } = charges(10)
    const other = { slot: 'another', token: 'other', payment: 'p1' }
    expect(await open(0)).toBe('opened')
    expect(await open(0, other)).toBe('opened')
    expect(await store.renew([hold(0), hold(0, other)], LEASE_MS)).toEqual([true, true])
    await store.close({ ...hold(0, other), how: 'release', retentionMs: 0 })
    expect(await store.renew([hold(0), hold(0, other)], LEASE_MS)).toEqual([true, false])
  })
})

describe('the time of the charge store', () => {
  it('is the time of day when it was made, and goes on with the monotonic clock', async () => {
    let [nowMs, runningMs] = [1_000_000, 5_000]
    const store = memoryChargeStore({ clock: { now: () => nowMs, monotonic: () => runningMs } })
    expect(await store.now!()).toBe(1_000_000)
    ;[nowMs, runningMs] = [9_000_000, 6_000]
    expect(await store.now!()).toBe(1_001_000)
  })
})

describe('a recording in memory', () => {
  it('of the payment alone is not the call’s: its claim has no answer', async () => {
    const { store, hold, open, record } = charges(10)
    await open(0)
    const lives = { leaseMs: LEASE_MS, paymentTtlMs: 3_600_000, claimTtlMs: 7_200_000 }
    const recorded = { answer: new Uint8Array(1) }
    expect(await store.record({ ...hold(0, { claim: undefined }), ...lives, recorded })).toBe('recorded')
    expect(await record(0)).toBe('superseded')
  })
})

describe('the room of the charge store', () => {
  it('for claims is not taken by payments, nor the other way round', async () => {
    const { room } = charges(20)
    expect(await room(0, { payment: undefined })).toBe(20)
    expect(await room(100, { claim: undefined })).toBe(20)
    const { room: other } = charges(20)
    expect(await other(0, { claim: undefined })).toBe(20)
    expect(await other(100, { payment: undefined })).toBe(20)
  })

  it('is not more for calls that recorded and ended', async () => {
    const { store, hold, open, record, room } = charges(10)
    for (let at = 0; at < 5; at++) {
      await open(at)
      await record(at)
      await store.close({ ...hold(at), how: at < 2 ? 'complete' : 'release', retentionMs: 3_600_000 })
    }
    expect(await room(100, { payment: undefined })).toBe(10)
    expect(await room(200, { claim: undefined })).toBe(10)
  })

  it('comes back whole from calls that were abandoned, whenever they began', async () => {
    const { room, advance, open } = charges(20)
    for (let at = 0; at < 10; at++) {
      await open(at)
      advance(90)
    }
    expect(await room(10)).toBe(10)
    advance(120_000)
    expect(await room(100)).toBe(20)
  })

  it('comes back from a neighbour of a call that was released', async () => {
    const { store, hold, room, advance, open } = charges(2)
    await open(0)
    await open(1)
    await store.close({ ...hold(0), how: 'release', retentionMs: 0 })
    advance(120_000)
    expect(await room(100)).toBe(2)
  })

  it('comes back although the clock was set back meanwhile', async () => {
    const { room, advance } = charges(5)
    advance(3_600_000)
    expect(await room(0)).toBe(5)
    advance(120_000)
    expect(await room(10)).toBe(5)
    advance(-1_800_000)
    expect(await room(20)).toBe(0)
    advance(1_920_000)
    expect(await room(30)).toBe(5)
    advance(-1_800_000)
    advance(120_000)
    expect(await room(40)).toBe(0)
  })

  it('is the same after a thousand years', async () => {
    const { room, advance } = charges(5)
    expect(await room(0)).toBe(5)
    advance(120_000)
    expect(await room(10)).toBe(5)
    advance(120_000)
    await room(20)
    advance(1_000 * 365 * 86_400_000)
    expect(await room(30)).toBe(5)
  })
})

describe('the rate limit in memory', () => {
  it('does not count what it refuses: a call that is given back leaves room however many were refused', () => {
    const limit = memoryCounters({ clock: { monotonic: () => 0 } })
    for (let call = 0; call < 5; call++) limit.take('caller', perMinute(2))
    limit.giveBack('caller', 1, perMinute(2))
    expect(limit.take('caller', perMinute(2))).toEqual({ admitted: true })
  })

  it('takes memory for the callers that there are, and not for as many as there may be', () => {
    const before = heapBytes()
    const limits = Array.from({ length: 10 }, () => memoryCounters())
    expect(heapBytes() - before).toBeLessThan(1_000_000)
    for (const limit of limits) expect(limit.peek('caller', perMinute(2))).toEqual({ admitted: true })
  })
})

describe('a window in memory', () => {
  it('is open until the very moment of its end', () => {
    let nowMs = 1_000
    const store = memorySubscriptions({ clock: { now: () => nowMs, monotonic: () => nowMs } })
    store.putIfAbsent('id', { endpoint: 'a', expiresAtMs: 1_500 })
    nowMs = 1_499
    expect(store.get('id')).toEqual({ endpoint: 'a', expiresAtMs: 1_500 })
    nowMs = 1_500
    expect(store.get('id')).toBeUndefined()
  })

  it('is there again when a time of day that was set ahead is set right', () => {
    let [nowMs, runningMs] = [1_000_000, 0]
    const store = memorySubscriptions({ clock: { now: () => nowMs, monotonic: () => runningMs } })
    const sold = { endpoint: 'a', expiresAtMs: 1_060_000, callsLeft: 2 }
    store.putIfAbsent('id', sold)
    nowMs += 86_400_000
    store.sweep()
    store.putIfAbsent('id', { ...sold, callsLeft: 9 })
    store.putIfAbsent('other', { ...sold, expiresAtMs: nowMs + 1_000 })
    expect(store.get('id')).toBeUndefined()
    nowMs -= 86_400_000
    expect(store.get('id')).toEqual(sold)
    ;[nowMs, runningMs] = [nowMs + 62_000, 62_000]
    store.sweep()
    expect(store.get('id')).toBeUndefined()
  })
})

describe('what was spent, by time', () => {
  const spend = fc.record({ amount: fc.bigInt({ min: 1n, max: 100n }), atMs: fc.nat(5_000) })

  it('is never forgotten early, and a second late at most, in whatever order it was added', () => {
    fc.assert(
      fc.property(fc.array(spend), fc.nat(6_000), (spends, endMs) => {
        const spent = spentByTime()
        for (const { amount, atMs } of spends) spent.add(amount, atMs)
        const until = (ms: number) =>
          spends.filter(({ atMs }) => atMs <= ms).reduce((sum, { amount }) => sum + amount, 0n)
        const taken = spent.takeUntil(endMs)
        expect(taken).toBeLessThanOrEqual(until(endMs))
        expect(taken).toBeGreaterThanOrEqual(until(Math.floor(endMs / 1_000) * 1_000 - 1))
        expect(taken + spent.takeUntil(6_000)).toBe(until(6_000))
      }),
    )
  })

  it('is one entry a second, which counts from its latest', () => {
    const orders = [
      [1_000, 1_900, 1_500],
      [1_900, 1_000, 1_500],
    ]
    for (const times of orders) {
      const spent = spentByTime()
      spent.add(1n, 3_000)
      for (const atMs of times) spent.add(1n, atMs)
      expect(spent.takeUntil(1_899)).toBe(0n)
      expect(spent.takeUntil(1_900)).toBe(3n)
    }
  })

  it('is another entry in another second, however near', () => {
    const spent = spentByTime()
    spent.add(1n, 1_999)
    spent.add(1n, 2_000)
    expect(spent.takeUntil(1_999)).toBe(1n)
  })
})

describe('the stores of agents that were given none', () => {
  it('are those of their seller, as long as one of its agents is there', () => {
    const clock = { ...systemClock }
    const of = (seller: string) => storesOf(seller, clock)
    const [a, b, stranger] = [of('s'), of('s'), of('t')]
    for (const name of ['charges', 'subscriptions', 'credit', 'tasks'] as const)
      expect([b[name]() === a[name](), stranger[name]() === a[name]()]).toEqual([true, false])
    a.leave()
    expect(of('s').charges()).toBe(b.charges())
    stranger.leave()
    expect(of('t').charges()).not.toBe(stranger.charges())
  })

  it('have its clock and the bound that it was given', async () => {
    let nowMs = 1_000_000
    const clock = { ...systemClock, now: () => nowMs, monotonic: () => nowMs }
    const { charges, subscriptions, credit, tasks } = storesOf('s', clock, 1)
    const call = (name: string) => ({ slot: 's', token: name, claim: { name, bodyHash: 'b' }, payment: name })
    const lives = { leaseMs: LEASE_MS, paymentTtlMs: 60_000, claimTtlMs: 60_000 }
    for (const name of ['first', 'second']) {
      await charges().open({ ...call(name), leaseMs: LEASE_MS })
      await charges().record({ ...call(name), ...lives, recorded: { answer: new Uint8Array(1) } })
      await charges().close({ ...call(name), how: 'complete', retentionMs: 60_000 })
    }
    const verdict = async (name: string) =>
      (await charges().open({ ...call(name), token: 'late', leaseMs: LEASE_MS })).verdict
    expect([await verdict('first'), await verdict('second')]).toEqual(['notKept', 'replayable'])
    subscriptions().putIfAbsent('id', { endpoint: 'a', expiresAtMs: nowMs + 60_000 })
    expect(subscriptions().get('id')).toBeDefined()
    credit().take('caller', perMinute(1))
    const task = { content: new Uint8Array(1), owner: 'me', lifeMs: 600_000, ownerMax: 9, max: 9 }
    for (const name of ['one', 'two', 'three']) {
      await tasks().put({ ...task, name, lifeMs: name === 'three' ? 60_000 : 600_000 })
      if (name === 'three') continue
      await tasks().take({ name, payment: 'P', token: 't', lifeMs: 600_000 })
      await tasks().end({ name, how: 'completed', payment: 'P', lifeMs: 600_000 })
    }
    const known = async () => {
      const found = await Promise.all(['one', 'two', 'three'].map(name => tasks().get(name)))
      return found.map(each => each !== undefined)
    }
    expect(await known()).toEqual([false, true, true])
    nowMs += 61_000
    expect(await known()).toEqual([false, true, false])
    expect(await verdict('second')).toBe('opened')
    expect(subscriptions().get('id')).toBeUndefined()
    expect(credit().take('caller', perMinute(1))).toEqual({ admitted: true })
  })
})
