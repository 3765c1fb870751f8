/**
 * `npm run bench`: ours against bare Koa, the official x402 servers and client, and xstate, side by side on one machine.
 * Prints Markdown. Ends with 1 if an answer has another status than it must have; a bar that is missed is only printed.
 *
 *   node bench/run.mjs [--row unpaid,paid,…] [--seconds 0.6] [--rounds 9] [--profile folder]
 */
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { algodClient } from '../dist/src/adapters/algorand/algod.js'
import { CONNECTIONS, load } from './load.mjs'
import { keyOf, paymentHeader, paymentPool, quoteOf, SECRET_KEY } from './payments.mjs'
import { measure, start } from './process.mjs'
import { LOAD_ROWS } from './rows.mjs'
import { tableOf } from './table.mjs'

/** Both, and discarded: the first thousands of calls belong to the compiler, however busy the machine is. */
const WARM_UP_ANSWERS = 4_000
const WARM_UP_SECONDS = 2

const MEASURED_ROWS = { signing, walking }
const ROWS = { ...LOAD_ROWS, ...MEASURED_ROWS }

const { values } = parseArgs({
  options: {
    row: { type: 'string', default: Object.keys(ROWS).join(',') },
    seconds: { type: 'string', default: '0.6' },
    rounds: { type: 'string', default: '9' },
    /** Where ours leaves a CPU profile. */
    profile: { type: 'string' },
  },
})
const seconds = Number(values.seconds)
const rounds = Number(values.rounds)

const payTo = keyOf('bench seller').address
const facilitator = await start('facilitator', {
  feePayer: keyOf('bench sponsor').address,
  payer: keyOf('bench payer').address,
})
const algod = algodClient({ url: facilitator.url })

const startedMs = Date.now()
const [loadBefore] = loadavg()
const rows = []
let busiest = 0
for (const name of values.row.split(',')) {
  const row = ROWS[name]
  if (row === undefined) throw new Error(`no row is named ${name}; there are ${Object.keys(ROWS).join(', ')}`)
  process.stderr.write(`${name}\n`)
  rows.push(await (name in LOAD_ROWS ? loaded(row) : row()))
}
const tookSeconds = Math.round((Date.now() - startedMs) / 1000)
await facilitator.stop()
await algod.close()

console.log(tableOf(rows))
const machine = `${cpus().length} × ${cpus()[0].model.trim()}, Node ${process.version}`
const others = `load average ${loadBefore.toFixed(1)} before the first row`
console.log(`\n${new Date().toISOString().slice(0, 10)}, ${machine}, ${others}.`)
console.log(`${rounds} rounds of ${seconds} s in turn, ${CONNECTIONS} connections, ${tookSeconds} s in all.`)
if (busiest > 0)
  console.log(`The load generator was busy for at most ${Math.round(busiest * 100)} % of a round.`)

/** Rounds in turn, A B C D A B C D …: what else the machine does in the meantime meets all of them. */
async function loaded(open) {
  const market = openMarket()
  const { title, expects, contenders } = await open(market)
  for (const contender of contenders) await warmUp(contender, expects)
  const found = contenders.map(({ name, bar }) => ({ name, bar, rounds: [], cpuUs: [] }))
  for (let round = 0; round < rounds; round++) {
    for (const [at, contender] of contenders.entries()) {
      const { answers, took, busy, cpuUs } = await once(contender, expects)
      found[at].rounds.push(answers / took)
      found[at].cpuUs.push(cpuUs / answers)
      busiest = Math.max(busiest, busy)
    }
  }
  await market.close()
  return { title, unit: '/s', contenders: found }
}

async function warmUp(contender, expects) {
  let total = 0
  for (let spent = 0; total < WARM_UP_ANSWERS || spent < WARM_UP_SECONDS; ) {
    const { answers, took } = await once(contender, expects)
    total += answers
    spent += took
  }
}

async function once({ name, server, requests }, expects) {
  const { next, ended } = await requests()
  const before = await server.cpuUs()
  const { answers, seconds: took, busy } = await load(server.url, next, { seconds, expects })
  const cpuUs = (await server.cpuUs()) - before
  ended()
  process.stderr.write(`  ${name}: ${Math.round(answers / took)}/s\n`)
  return { answers, took, busy, cpuUs }
}

function openMarket() {
  const servers = []
  const payments = quote => paymentPool(quote, algod)
  return {
    payments,
    async start(file, config) {
      const profiled = values.profile !== undefined && file === 'ours'
      const execArgv = profiled ? ['--cpu-prof', `--cpu-prof-dir=${values.profile}`] : []
      const server = await start(file, { facilitatorUrl: facilitator.url, payTo, ...config }, execArgv)
      servers.push(server)
      return server
    },
    /** The header of one payment for what a server asks. */
    async payOnce(server, path, body) {
      const quote = await quoteOf(server.url, path, body)
      const [payload] = await payments(quote)(1)
      return paymentHeader(payload, quote)
    },
    close: () => Promise.all(servers.map(server => server.stop())),
  }
}

async function signing() {
  const market = openMarket()
  const quote = await quoteOf((await market.start('ours')).url, '/work', { text: 'hello' })
  await market.close()
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

async function walking() {
  const found = await measure('walking', { rounds, seconds: seconds / 3 })
  return {
    title: 'one paid walk of the charge machine',
    unit: 'µs',
    lessIsMore: true,
    contenders: found,
  }
}
