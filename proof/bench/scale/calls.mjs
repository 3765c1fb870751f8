/** Paid calls on their way through processes, Redis shards and connections to a facilitator. All times are milliseconds. */
import { MinHeap } from './min-heap.mjs'

/** Calls of the first part find empty queues, so they do not count. */
const WARM_UP_SHARE = 0.25

/**
 * @returns shares of time in use, and what a call takes beside verify, handler and settle. `grows` where more calls are open at the
 *   end than halfway, by a fifth.
 */
export function callsThrough(house) {
  const { callsPerSecond, seconds, seed } = house
  const random = seeded(seed)
  const endMs = seconds * 1_000
  const steps = stepsIn(house, random)
  const moments = new MinHeap()
  const beside = []
  const open = { halfway: 0, end: 0 }
  let nextMs = 0
  const arrive = () => {
    nextMs += (-Math.log(1 - random()) * 1_000) / callsPerSecond
    moments.push(nextMs, steps.begin(nextMs))
  }
  arrive()
  for (let [atMs, call] = moments.pop(); atMs < endMs; [atMs, call] = moments.pop()) {
    if (call.step === 0) arrive()
    const doneMs = steps.next(call, atMs)
    if (doneMs !== undefined) {
      moments.push(doneMs, call)
      continue
    }
    if (call.begunMs > endMs * WARM_UP_SHARE) beside.push(atMs - call.begunMs - call.elsewhereMs)
  }
  for (const { begunMs, endedMs } of steps.calls) {
    if (begunMs < endMs / 2 && endedMs > endMs / 2) open.halfway++
    if (endedMs > endMs) open.end++
  }
  const sorted = beside.sort((a, b) => a - b)
  const at = share => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
  return { ...steps.busy(endMs), p50Ms: at(0.5), p99Ms: at(0.99), grows: open.end > open.halfway * 1.2 }
}

/** What a call does in turn. Each step returns when it is done; the last one returns nothing. */
function stepsIn(house, random) {
  const { processUs, redisUs, redisTripMs, verifyMs, handlerMs } = house
  const [settleLeastMs, settleMostMs] = house.settleMs
  const cpus = queues(house.processes, 1)
  const redises = queues(house.shards, 1)
  const pools = queues(house.processes, house.connections)
  const shardOf = payerShards(house.payers, house.shards, random)
  const calls = []
  /** Three turns: until verify is sent, until settle is sent, until the answer is. */
  const turn = (call, nowMs) => cpus[call.process].until(nowMs, processUs / 3_000)
  /** Of the store's four moves a call waits for two. */
  const stored = (call, nowMs) => {
    const doneMs = redises[call.shard].until(nowMs, redisUs / 4_000)
    redises[call.shard].until(nowMs, redisUs / 4_000)
    return doneMs + redisTripMs
  }
  const away = (call, nowMs, ms, queue) => {
    call.elsewhereMs += ms
    return queue === undefined ? nowMs + ms : queue.until(nowMs, ms)
  }
  const STEPS = [
    turn,
    stored,
    (call, nowMs) => away(call, nowMs, verifyMs, pools[call.process]),
    turn,
    (call, nowMs) => away(call, nowMs, handlerMs),
    stored,
    (call, nowMs) =>
      away(call, nowMs, settleLeastMs + random() * (settleMostMs - settleLeastMs), pools[call.process]),
    turn,
  ]
  return {
    calls,
    begin(begunMs) {
      const process = Math.floor(random() * house.processes)
      const call = {
        begunMs,
        endedMs: Number.POSITIVE_INFINITY,
        process,
        shard: shardOf(),
        step: 0,
        elsewhereMs: 0,
      }
      calls.push(call)
      return call
    },
    next(call, nowMs) {
      const step = STEPS[call.step++]
      if (step === undefined) call.endedMs = nowMs
      return step?.(call, nowMs)
    },
    busy(endMs) {
      const shares = list => list.map(queue => queue.busyMs / (endMs * queue.places))
      const mean = list => list.reduce((sum, share) => sum + share, 0) / list.length
      return {
        processBusy: mean(shares(cpus)),
        shardBusy: Math.max(...shares(redises)),
        connectionsUsed: mean(shares(pools)),
      }
    },
  }
}

function queues(count, places) {
  return Array.from({ length: count }, () => new Queue(places))
}

/** Serves in order of arrival, so many at once. */
class Queue {
  busyMs = 0
  #free = new MinHeap()

  constructor(places) {
    this.places = places
  }

  until(nowMs, ms) {
    const freeMs = this.#free.size < this.places ? nowMs : this.#free.pop()[0]
    const doneMs = Math.max(nowMs, freeMs) + ms
    this.busyMs += ms
    this.#free.push(doneMs)
    return doneMs
  }
}

/** A payer's records are in one slot, so each payer is in one shard. The payer of rank n calls 1/n as often as the first (Zipf). */
function payerShards(payers, shards, random) {
  const home = Array.from({ length: payers }, () => Math.floor(random() * shards))
  const sums = []
  let sum = 0
  for (let rank = 1; rank <= payers; rank++) {
    sum += 1 / rank
    sums.push(sum)
  }
  return () => {
    const wanted = random() * sum
    let [low, high] = [0, payers - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (sums[middle] < wanted) low = middle + 1
      else high = middle
    }
    return home[low]
  }
}

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
function seeded(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
