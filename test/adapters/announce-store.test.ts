/** What the stores in memory hold, as a tool beside the program takes it and gives it to the next: nothing that is owed is missing, nothing that is over is held. */
import { channel } from 'node:diagnostics_channel'
import { describe, expect, it } from 'vitest'
import type { MadeStore } from '../../src/adapters/memory/announce-store.js'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { memorySubscriptions } from '../../src/adapters/memory/subscriptions.js'

const LEASE_MS = 1_000
const KEPT_MS = 60_000

/** A store, and what was said of it when it was made. */
function made<Store, Records>(make: () => Store): [Store, MadeStore<Records>] {
  const said: unknown[] = []
  const hear = (store: unknown) => void said.push(store)
  channel('svc.memory.made').subscribe(hear)
  const store = make()
  channel('svc.memory.made').unsubscribe(hear)
  expect(said).toHaveLength(1)
  return [store, said[0] as MadeStore<Records>]
}

function clock() {
  let nowMs = 1_000_000
  const advance = (ms: number) => {
    nowMs += ms
  }
  return { now: () => nowMs, monotonic: () => nowMs, advance }
}

describe('the charge store in memory', () => {
  const call = {
    slot: 's',
    token: 't',
    claim: { name: 'key', bodyHash: 'b' },
    payment: 'p',
    leaseMs: LEASE_MS,
  }
  const taking = {
    slot: 's',
    token: 'u',
    claim: { name: 'taking', bodyHash: 'b' },
    hasUnits: true,
    leaseMs: LEASE_MS,
  }
  const lives = { paymentTtlMs: KEPT_MS, claimTtlMs: KEPT_MS, retentionMs: KEPT_MS }

  async function used() {
    const time = clock()
    const [store, handed] = made<ReturnType<typeof memoryChargeStore>, readonly unknown[][]>(() =>
      memoryChargeStore({ clock: time }),
    )
    await store.open(call)
    await store.record({ ...call, ...lives, recorded: { answer: Buffer.from('owed') } })
    await store.close({ ...call, ...lives, how: 'complete' })
    await store.sell({ slot: 's', units: 10, expiresAtMs: time.now() + KEPT_MS })
    await store.open({ ...taking, take: 4 })
    return { store, handed, time }
  }

  it('gives answers, payments and balances to the next one, with what calls have reserved', async () => {
    const { handed, time } = await used()
    const [next, nextHanded] = made<ReturnType<typeof memoryChargeStore>, unknown>(() =>
      memoryChargeStore({ clock: time }),
    )
    expect([handed.name, nextHanded.name]).toEqual(['charges', 'charges'])
    nextHanded.restore(structuredClone(handed.records()))
    const again = await next.open({ ...call, token: 'again' })
    expect(again.verdict === 'replayable' && Buffer.from(again.answer).toString()).toBe('owed')
    expect(await next.open({ ...call, token: 'other', claim: undefined } as never)).toEqual({
      verdict: 'spent',
    })
    const other = { ...taking, token: 'v', claim: { name: 'other', bodyHash: 'b' }, take: 7 }
    expect(await next.open(other)).toMatchObject({ units: { verdict: 'short', unused: 10, free: 6 } })
  })

  it('holds nothing for a balance that is over when it is sold, nor for an answer that is given up', async () => {
    const time = clock()
    const [store, handed] = made<ReturnType<typeof memoryChargeStore>, unknown>(() =>
      memoryChargeStore({ clock: time }),
    )
    for (const ms of [-1, 0]) await store.sell({ slot: 's', units: 10, expiresAtMs: time.now() + ms })
    expect(handed.records()).toEqual([[], [], []])
    await store.open(call)
    time.advance(LEASE_MS)
    await store.close({ ...call, ...lives, how: 'forfeit', answer: Buffer.from('lost') })
    expect(handed.records()).toEqual([[], [], []])
  })

  it('lets go of all that is over', async () => {
    const { store, handed, time } = await used()
    expect(handed.records().map(({ length }) => length)).toEqual([2, 1, 1])
    time.advance(KEPT_MS + LEASE_MS)
    await store.renew([], LEASE_MS)
    expect(handed.records().map(({ length }) => length)).toEqual([1, 0, 1])
    time.advance(KEPT_MS)
    await store.renew([], LEASE_MS)
    expect(handed.records()).toEqual([[], [], []])
  })
})

describe('the windows in memory', () => {
  type Sold = [string, { endpoint: string; expiresAtMs: number; callsLeft?: number }]

  function windows(time = clock()) {
    const [store, handed] = made<ReturnType<typeof memorySubscriptions>, Sold[]>(() =>
      memorySubscriptions({ clock: time }),
    )
    const until = (ms: number) => ({ endpoint: 'a', expiresAtMs: time.now() + ms })
    return { store, handed, time, until }
  }

  it('give what was sold to the next ones: a call at work then is not counted', () => {
    const { store, handed, time, until } = windows()
    store.putIfAbsent('by time', until(KEPT_MS))
    store.putIfAbsent('by calls', { ...until(KEPT_MS), callsLeft: 2 })
    for (const token of ['counted', 'at work'])
      store.take('by calls', { endpoint: 'a', token, leaseMs: LEASE_MS })
    store.use('by calls', 'counted')
    const next = windows(time)
    expect([handed.name, next.handed.name]).toEqual(['subscriptions', 'subscriptions'])
    next.handed.restore(structuredClone(handed.records()))
    expect(next.store.get('by time')).toEqual(until(KEPT_MS))
    expect(next.store.get('by calls')).toEqual({ ...until(KEPT_MS), callsLeft: 1 })
  })

  it('let go of what is over when others are stored, and when they are swept; what is over is not stored', () => {
    const { store, handed, time, until } = windows()
    const held = () => handed.records().map(([id]) => id)
    for (const ms of [-1, 0]) store.putIfAbsent('over', until(ms))
    store.putIfAbsent('short', until(2_000))
    store.putIfAbsent('long', until(4_000))
    expect(held()).toEqual(['short', 'long'])
    time.advance(3_000)
    store.putIfAbsent('later', until(KEPT_MS))
    expect(held()).toEqual(['long', 'later'])
    time.advance(2_000)
    store.sweep()
    expect(held()).toEqual(['later'])
  })
})
