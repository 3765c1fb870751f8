/** A store of the simulation that forgets: what its replica has when it takes over, and what the invariants forgive because of it. */
import { describe, expect, it } from 'vitest'
import { Losses } from '../../proof/simulation/invariants/forgotten.js'
import { Replication } from '../../proof/simulation/stores/replication.js'

/** Three writes, at 10, 20 and 30. Each notes its time. */
function written() {
  let nowMs = 0
  const held = new Replication(
    clock => ({ notes: [] as string[], clock }),
    () => nowMs,
  )
  const note = (name: string) =>
    held.write([name], ({ notes, clock }) => void notes.push(`${name} at ${clock()}`))
  for (const [at, name] of ['one', 'two', 'three'].entries()) {
    nowMs = 10 * (at + 1)
    note(name)
  }
  nowMs = 40
  return { held, note }
}

describe('a replica that takes over', () => {
  it('has what was written before the moment up to which it came, as of then', () => {
    const { held } = written()
    expect(held.failOver(20).flatMap(({ names }) => names)).toEqual(['two', 'three'])
    expect(held.stores.notes).toEqual(['one at 10'])
  })

  it('has what it confirmed, however far it is behind, and all that came before', () => {
    const { held } = written()
    held.confirm(2)
    expect(held.failOver(0).flatMap(({ names }) => names)).toEqual(['three'])
    expect(held.stores.notes).toEqual(['one at 10', 'two at 20'])
  })

  it('lacks nothing where it is not behind, and goes on from there', () => {
    const { held, note } = written()
    expect(held.failOver(31)).toEqual([])
    note('four')
    expect(held.failOver(40).flatMap(({ names }) => names)).toEqual(['four'])
    expect(held.stores.notes).toHaveLength(3)
  })

  it('is alone until the old primary is its replica, which has its writes then', () => {
    const { held, note } = written()
    expect(held.isAlone).toBe(false)
    held.failOver(20)
    expect(held.isAlone).toBe(true)
    note('four')
    held.rejoin()
    expect([held.isAlone, held.stores.notes]).toEqual([false, ['one at 10', 'four at 40']])
  })

  it('gives way to the old primary, which has what it alone had, and nothing that was written meanwhile', () => {
    const { held, note } = written()
    held.failOver(20)
    note('four')
    expect(held.failBack().flatMap(({ names }) => names)).toEqual(['four'])
    note('five')
    expect(held.stores.notes).toEqual(['one at 10', 'two at 20', 'three at 30', 'five at 40'])
  })

  it('has nothing that was written since it was cut off, and confirms nothing, until it takes over and has a replica', () => {
    const { held, note } = written()
    held.confirm(1)
    expect(held.hasReplica).toBe(true)
    held.cutOff()
    note('four')
    expect(held.hasReplica).toBe(false)
    expect(held.failOver(100).flatMap(({ names }) => names)).toEqual(['four'])
    expect(held.hasReplica).toBe(false)
    held.failBack()
    expect([held.hasReplica, held.stores.notes.at(-1)]).toEqual([true, 'four at 40'])
  })

  it('has nothing where the store keeps nothing', () => {
    const { held } = written()
    held.confirm(3)
    expect(held.forgetAll()).toHaveLength(3)
    expect(held.stores.notes).toEqual([])
  })
})

describe('a loss', () => {
  const write = { atMs: 100_000, names: ['call', 'payment'] }
  const truth = (atMs = 0) => ({
    holds: [{ call: 'old', txId: 'old payment', from: 'seller0.1', atMs }],
    records: [{ call: 'old', txId: 'old payment', atMs, stillMs: () => 0 }],
    windows: new Map(),
    balances: new Map(),
    askings: [],
  })

  it('excuses the calls and the payments whose writes are gone, and no others', () => {
    const losses = new Losses(truth())
    losses.latest(110_000, [write], false)
    expect([losses.call('call'), losses.payment('payment')]).toEqual([true, true])
    expect([losses.call('old'), losses.payment('old payment')]).toEqual([false, false])
  })

  it('excuses a payment that was recorded while they were made', () => {
    const losses = new Losses(truth(95_000))
    losses.latest(110_000, [write], false)
    expect(losses.payment('old payment')).toBe(true)
  })

  it('excuses no payment where the seller waits for replicas', () => {
    const losses = new Losses(truth(95_000))
    losses.latest(110_000, [write], true)
    expect([losses.payment('payment'), losses.payment('old payment')]).toEqual([false, false])
    expect(losses.call('call')).toBe(true)
  })

  it('of everything excuses what was there before it', () => {
    const losses = new Losses(truth())
    losses.all(10)
    expect([losses.payment('old payment'), losses.payment('payment')]).toEqual([true, false])
  })

  it.each([
    ['a refusal while the primary that had counted was away', 90, { atMs: 110, heardMs: 120 }, true],
    ['one that was on its way when it left', 90, { atMs: 95, heardMs: 105 }, true],
    ['one that was heard before it left', 90, { atMs: 95, heardMs: 99 }, false],
    ['one after it came back', 90, { atMs: 151, heardMs: 155 }, false],
    ['what was counted while it was away', 101, { atMs: 110, heardMs: 120 }, false],
  ])('that was made good: %s', (_, countedMs, refused, isExcused) => {
    const losses = new Losses(truth())
    losses.comesBack(100, 150, false)
    expect(losses.isRestored(countedMs, refused)).toBe(isExcused)
  })

  it('that was made good excuses nothing where the seller waits for replicas', () => {
    const losses = new Losses(truth())
    losses.comesBack(100, 150, true)
    expect(losses.isRestored(90, { atMs: 110, heardMs: 120 })).toBe(false)
  })

  it('of nothing is none', () => {
    const losses = new Losses(truth())
    losses.latest(110_000, [], false)
    expect(losses.count).toBe(0)
  })
})
