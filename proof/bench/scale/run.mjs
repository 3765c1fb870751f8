/**
 * `npm run scale`: what many paid calls a second need, by a simulation of queues with measured costs. Processes and Redis shards serve
 * one request at a time; a trip to the facilitator takes time and a connection, no CPU. Prints Markdown; the same seed prints the same.
 *
 *   node proof/bench/scale/run.mjs [--calls 10000] [--seconds 20] [--seed 1]
 */
import { parseArgs } from 'node:util'
import { markdown } from '../table.mjs'
import { callsThrough } from './calls.mjs'
import { COSTS } from './costs.mjs'

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
  },
})
const load = {
  callsPerSecond: Number(values.calls),
  seconds: Number(values.seconds),
  seed: Number(values.seed),
}

const LANDS = { title: 'settle waits until it lands, 2.8 to 5.6 s', settleMs: [2_800, 5_600] }
const SUBMITS = { title: 'settle answers in 50 ms', settleMs: [50, 50] }

/** The least that is enough, what is not, and what helps little. */
const HOUSES = [
  { facilitator: SUBMITS, processes: 6, shards: 2, connections: 512 },
  { facilitator: SUBMITS, processes: 8, shards: 1, connections: 512 },
  { facilitator: SUBMITS, processes: 8, shards: 2, connections: 512 },
  { facilitator: SUBMITS, processes: 12, shards: 3, connections: 512 },
  { facilitator: LANDS, processes: 12, shards: 3, connections: 512 },
  { facilitator: LANDS, processes: 100, shards: 3, connections: 512 },
  { facilitator: LANDS, processes: 12, shards: 3, connections: 5_000 },
]

const heads = [
  'facilitator',
  'processes',
  'Redis shards',
  'connections of each',
  'load of a process',
  'of the busiest shard',
  'of the connections',
  'p50 beside the trips',
  'p99',
]
const lines = HOUSES.map(house => {
  const seen = callsThrough({ ...house, ...load, ...COSTS, settleMs: house.facilitator.settleMs })
  const percent = share => `${Math.round(share * 100)} %`
  const waiting = ms => (seen.grows ? 'grows without end' : `${ms.toFixed(ms < 10 ? 1 : 0)} ms`)
  return [
    house.facilitator.title,
    house.processes,
    house.shards,
    house.connections.toLocaleString('en-US'),
    percent(seen.processBusy),
    percent(seen.shardBusy),
    percent(seen.connectionsUsed),
    waiting(seen.p50Ms),
    seen.grows ? '' : waiting(seen.p99Ms),
  ]
})
console.log(markdown(heads, lines))
const { processUs, redisUs } = COSTS
console.log(
  `\n${load.callsPerSecond.toLocaleString('en-US')} paid calls a second for ${load.seconds} s, seed ${load.seed}; a call takes ${processUs} µs of its process and ${redisUs} µs of its Redis shard.`,
)
