/** One process. Each move is one synchronous step. Nothing survives a restart, but under `svc dev`. */
import * as transition from '../../domain/charge-store/transition.js'
import type { Opened, UnitsChargeStore } from '../../ports/charge-store.js'
import { type Clock, systemClock } from '../../ports/clock.js'
import { announceStore } from './announce-store.js'
import { type ChargeBounds, ChargeRecords, copyOf } from './charge-records.js'
import { memoryCounters } from './counters.js'
import { memorySubscriptions } from './subscriptions.js'
import { memoryTasks } from './task-store.js'

export interface MemoryChargeStoreOptions extends Partial<ChargeBounds> {
  readonly clock?: Pick<Clock, 'now' | 'monotonic'>
}

export function memoryChargeStore(options: MemoryChargeStoreOptions = {}): UnitsChargeStore {
  const { clock = systemClock, max = 500, callsMax = 10_000, settlingBytesMax = 268_435_456 } = options
  const records = new ChargeRecords({ max, callsMax, settlingBytesMax })
  announceStore({ name: 'charges', records: () => records.all, restore: all => records.restore(all) })
  // A time of day that is set ahead, and back again, ends no lease and no balance.
  const epochMs = clock.now() - clock.monotonic()
  const now = () => epochMs + clock.monotonic()
  const timeOfMove = () => records.collect(now())
  return {
    async open(move) {
      const decision = transition.open(records, move, timeOfMove())
      if (!records.hasRoomFor(decision)) return { verdict: 'full' }
      return withCopies(records.keep(decision))
    },
    record: async move => records.keep(transition.record(records, move, timeOfMove())),
    renew: async (holds, leaseMs) => {
      const nowMs = timeOfMove()
      return holds.map(hold => records.keep(transition.renew(records, hold, leaseMs, nowMs)))
    },
    close: async move => records.keep(transition.close(records, move, timeOfMove())),
    resolve: async move => records.keep(transition.resolve(records, move, timeOfMove())),
    sell: async move => records.keep(transition.sell(records, move, timeOfMove())),
    drop: async slot => records.keep(transition.drop(records, slot, timeOfMove())),
    count: async move => records.keep(transition.count(records, move, timeOfMove())),
    now,
  }
}

/** One for all agents and gates of a seller in this process, as long as one is there: else each would run for one payment. */
export function storesOf(seller: string, clock: Clock, max?: number) {
  const known = sellers.get(clock) ?? new Map<string, ReturnType<typeof sellersStores>>()
  sellers.set(clock, known)
  const own = known.get(seller) ?? sellersStores(clock, max)
  known.set(seller, own)
  own.users++
  const leave = () => {
    if (--own.users === 0) known.delete(seller)
  }
  return { ...own, leave }
}

const sellers = new WeakMap<Clock, Map<string, ReturnType<typeof sellersStores>>>()

const sellersStores = (clock: Clock, max: number | undefined) => ({
  users: 0,
  charges: whenAsked(() => memoryChargeStore({ clock, max })),
  subscriptions: whenAsked(() => memorySubscriptions({ clock })),
  credit: whenAsked(() => memoryCounters({ clock })),
  tasks: whenAsked(() => memoryTasks({ clock, completedMax: max })),
})

function whenAsked<Store>(make: () => Store): () => Store {
  let made: Store | undefined
  return () => {
    made ??= make()
    return made
  }
}

function withCopies(opened: Opened): Opened {
  if (opened.verdict === 'replayable') return { ...opened, answer: copyOf(opened.answer) }
  if (opened.verdict !== 'orphaned') return opened
  return { ...opened, recorded: { ...opened.recorded, answer: copyOf(opened.recorded.answer) } }
}
