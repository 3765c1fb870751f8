/**
 * `npm run soak`: half an hour of load on two servers at once, one on memory and one on Redis, at half of what they take together.
 * Each request has a caller's address, an origin, and where it pays a payment and a key that no other request has. Prints a
 * table and writes `soak.svg`: nothing may grow but what is kept on purpose.
 *
 *   node proof/bench/soak/run.mjs [--minutes 30]
 */
import { writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { algodClient } from '../../../dist/src/adapters/algorand/algod-and-indexer.js'
import { inMarket } from '../market.mjs'
import { keyOf } from '../payments.mjs'
import { start } from '../process.mjs'
import { callers, most } from './callers.mjs'
import { plotOf } from './plot.mjs'
import { soakTableOf } from './table.mjs'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } })
const minutes = Number(values.minutes)

/** Answers are kept for two minutes instead of a day: what is kept on purpose has its full size in minute 8, as payments have. */
const SERVED = {
  idempotency: { onLostResponse: 'replay', windowMs: 120_000 },
  rateLimit: { perMinute: 60, per: 'ip' },
  trustProxy: 1,
  advanced: { cors: true },
}
const SAMPLE_MS = 15_000
const WARM_UP_MS = 15_000

const parties = { feePayer: keyOf('bench sponsor').address, payer: keyOf('bench payer').address }
const facilitator = await start('facilitator', parties)
const algod = algodClient({ url: facilitator.url })
const notes = new Set()
const bench = { facilitator, parties, algod, payTo: keyOf('bench seller').address, notes }
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

const [loadBefore] = loadavg()
const found = await inMarket(bench, async market => {
  const redis = await market.redis()
  const stores = [
    { name: 'memory', server: await market.start('ours', { stream: true, options: SERVED }) },
    {
      name: 'Redis',
      server: await market.start('ours', {
        stream: true,
        redis: { url: redis.url, prefix: 'soak:' },
        options: SERVED,
      }),
    },
  ]
  const loads = await Promise.all(stores.map(({ server }) => callers(market, server)))
  await Promise.all(loads.map(load => most(load, WARM_UP_MS)))
  const fullest = await Promise.all(loads.map(load => most(load, WARM_UP_MS)))
  const rates = fullest.map(rate => Math.floor(rate / 2))
  for (const [at, { name }] of stores.entries()) console.error(`${name}: ${rates[at]} requests a second`)
  for (const [at, load] of loads.entries()) load.begin(rates[at])
  const startedMs = performance.now()
  const samples = []
  for (let count = 1; count * SAMPLE_MS <= minutes * 60_000; count++) {
    await until(startedMs + count * SAMPLE_MS)
    const minute = (count * SAMPLE_MS) / 60_000
    const seen = await Promise.all(
      stores.map(async ({ server }, at) => ({ ...(await server.sample()), ...loads[at].sample() })),
    )
    samples.push({ minute, stores: seen, redis: await keptIn(redis) })
    console.error(`minute ${minute}: ${JSON.stringify(samples.at(-1))}`)
  }
  await Promise.all(loads.map(load => load.end()))
  return { names: stores.map(({ name }) => name), rates, samples }
})
await facilitator.stop()
await algod.close()

writeFileSync(new URL('soak.svg', import.meta.url), plotOf(found))
console.log(soakTableOf(found))
const machine = `${cpus().length} × ${cpus()[0].model.trim()}, Node ${process.version}`
console.log(
  `\n${new Date().toISOString().slice(0, 10)}, ${machine}, load average ${loadBefore.toFixed(1)} before; ${minutes} minutes.`,
)
for (const note of notes) console.log(note)

async function keptIn({ admin, memoryBytes }) {
  return { keys: await admin.dbsize(), bytes: await memoryBytes() }
}

function until(ms) {
  return new Promise(resolve => setTimeout(resolve, ms - performance.now()))
}
