/**
 * `npm run bench`: ours against Koa and @koa/router, the official x402 servers and client, and xstate, side by side on one machine.
 * Prints Markdown. Ends with 1 if an answer has another status than it must have; a bar that is missed is only printed.
 *
 *   node proof/bench/run.mjs [--row unpaid,paid,…|quotes|gates|start|calling|upstream|growth|facilitators|redis] [--seconds 0.6] [--rounds 9] [--profile folder] [--tuned] [--largest] [--cores 0.2]
 *
 * The names of several rows are not run unless they are asked for: `redis` needs one, `quotes` compares ours with ours, `start` measures new
 * processes, `calling` is about clients, `upstream` about servers behind ours, `growth` about more of everything, and `facilitators` about the trips to facilitators.
 */
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { algodClient } from '../../dist/src/adapters/algorand/algod-and-indexer.js'
import { calling } from './calling.mjs'
import { distant, distantTableOf } from './distant.mjs'
import { firstEvent } from './first-event.mjs'
import { growing, growth, growthTableOf } from './growth.mjs'
import { CONNECTIONS } from './load.mjs'
import { inMarket } from './market.mjs'
import { keyOf, quoteOf, SECRET_KEY } from './payments.mjs'
import { measure, start } from './process.mjs'
import { bytes, bytesTableOf } from './redis/bytes.mjs'
import { STORE_ROWS, storesTableOf } from './redis/rows.mjs'
import { trips, tripsTableOf } from './redis/trips.mjs'
import { refuse } from './refuse.mjs'
import { inTurn } from './rounds.mjs'
import { GATE_ROWS, inProcess, LOAD_ROWS, QUOTE_ROWS, UPSTREAM_ROWS } from './rows.mjs'
import { start as starting, startTableOf } from './start.mjs'
import { tableOf } from './table.mjs'

/** A table each, and the rows that may stand in it. */
const SERVERS = { table: tableOf, rows: { ...loaded(LOAD_ROWS), firstEvent, signing, walking } }
const QUOTES = { table: tableOf, rows: loaded(QUOTE_ROWS) }
const GATES = { table: tableOf, rows: loaded(GATE_ROWS) }
const START = { table: startTableOf, rows: { start: starting } }
const CALLING = { table: tableOf, rows: { calling } }
const FACILITATORS = [
  { table: distantTableOf, rows: { distant } },
  { table: tableOf, rows: loaded({ inProcess }) },
]
const REDIS = [
  { table: storesTableOf, rows: loaded(STORE_ROWS) },
  { table: bytesTableOf, rows: { bytes } },
  { table: tripsTableOf, rows: { trips } },
]
const GROWTH = {
  table: growthTableOf,
  rows: Object.fromEntries(growing.map(kind => [`growth-${kind}`, growth(kind)])),
}
const UPSTREAM = { table: tableOf, rows: loaded(UPSTREAM_ROWS) }
const BLOCKS = [SERVERS, QUOTES, GATES, START, CALLING, UPSTREAM, GROWTH, ...FACILITATORS, ...REDIS]
const namesOf = blocks => blocks.flatMap(({ rows }) => Object.keys(rows))
const GROUPS = {
  servers: namesOf([SERVERS]),
  quotes: namesOf([QUOTES]),
  gates: namesOf([GATES]),
  start: namesOf([START]),
  upstream: namesOf([UPSTREAM]),
  growth: namesOf([GROWTH]),
  facilitators: namesOf(FACILITATORS),
  redis: namesOf(REDIS),
}

const { values } = parseArgs({
  options: {
    row: { type: 'string', default: 'servers' },
    seconds: { type: 'string', default: '0.6' },
    rounds: { type: 'string', default: '9' },
    /** The share of a core that each server has, so that several have one each on a small machine. */
    cores: { type: 'string' },
    /** Where ours leaves a CPU profile. */
    profile: { type: 'string' },
    /** Start every contender with a larger young generation. */
    tuned: { type: 'boolean', default: false },
    /** `growth` with ten million lines of a journal: six gigabytes of disk. */
    largest: { type: 'boolean', default: false },
  },
})
const asked = values.row.split(',').flatMap(name => GROUPS[name] ?? name)
const known = namesOf(BLOCKS)
const unknown = asked.find(name => !known.includes(name))
if (unknown !== undefined) refuse(`no row is named ${unknown}; there are ${known.join(', ')}`)

// What was started ends with this process, for which it must end in a way that lets it say so.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

const payTo = keyOf('bench seller').address
const parties = { feePayer: keyOf('bench sponsor').address, payer: keyOf('bench payer').address }
const facilitator = await start('facilitator', parties)
const algod = algodClient({ url: facilitator.url })
const bench = {
  facilitator,
  parties,
  algod,
  payTo,
  seconds: Number(values.seconds),
  rounds: Number(values.rounds),
  profile: values.profile,
  cores: values.cores && Number(values.cores),
  largest: values.largest,
  busiest: 0,
  notes: new Set(),
}

const startedMs = Date.now()
const [loadBefore] = loadavg()
const tables = []
for (const { rows, table } of BLOCKS) {
  const found = []
  for (const name of Object.keys(rows).filter(name => asked.includes(name))) {
    process.stderr.write(`${name}\n`)
    found.push(await rows[name](bench))
  }
  if (found.length > 0) tables.push(table(found))
}
const tookSeconds = Math.round((Date.now() - startedMs) / 1000)
await facilitator.stop()
await algod.close()

console.log(tables.join('\n\n'))
const machine = `${cpus().length} × ${cpus()[0].model.trim()}, Node ${process.version}`
const others = `load average ${loadBefore.toFixed(1)} before the first row`
console.log(`\n${new Date().toISOString().slice(0, 10)}, ${machine}, ${others}.`)
console.log(
  `${bench.rounds} rounds of ${bench.seconds} s in turn, ${CONNECTIONS} connections to each process, ${tookSeconds} s in all.`,
)
if (bench.cores) console.log(`Each server has ${bench.cores} of a core.`)
for (const note of bench.notes) console.log(note)
if (bench.busiest > 0)
  console.log(`The load generator was busy for at most ${Math.round(bench.busiest * 100)} % of a round.`)

function loaded(rows) {
  return Object.fromEntries(Object.entries(rows).map(([name, open]) => [name, bench => inTurn(open, bench)]))
}

async function signing({ seconds, rounds }) {
  const quote = await inMarket(bench, async market =>
    quoteOf((await market.start('ours')).url, '/work', { text: 'hello' }),
  )
  const found = await measure('signing', {
    algodUrl: facilitator.url,
    secretKey: SECRET_KEY,
    quote,
    rounds,
    seconds: seconds / 2,
  })
  found[1].bar = 10
  return { title: 'a client builds and signs a payment', unit: 'µs', lessIsMore: true, contenders: found }
}

async function walking({ seconds, rounds }) {
  const found = await measure('walking', { rounds, seconds: seconds / 3 })
  return {
    title: 'one paid walk of the charge machine',
    unit: 'µs',
    lessIsMore: true,
    contenders: found,
  }
}
