/**
 * Honest payers alone, and then beside garbage at every door of the same server: how many of them are answered, and how fast.
 *
 *   node bench/strangers/run.mjs [--minutes 10] [--payers 20] [--garbage 20] [--profile <folder>]
 *
 * `payers` and `garbage` are requests a second. A piece of garbage has up to 1 MB. `profile` is for a CPU profile of the server.
 */
import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { algodClient } from '../../../dist/src/adapters/algorand/algod-and-indexer.js'
import { inMarket } from '../market.mjs'
import { keyOf, paymentHeader, quoteOf } from '../payments.mjs'
import { start } from '../process.mjs'
import { BODY } from '../rows.mjs'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    payers: { type: 'string', default: '20' },
    garbage: { type: 'string', default: '20' },
    profile: { type: 'string' },
  },
})
const [minutes, perSecond, garbagePerSecond] = [values.minutes, values.payers, values.garbage].map(Number)
const TICK_MS = 5
const WARM_UP_MS = 3_000

const parties = { feePayer: keyOf('bench sponsor').address, payer: keyOf('bench payer').address }
const facilitator = await start('facilitator', parties)
const algod = algodClient({ url: facilitator.url })
const { profile } = values
const bench = { facilitator, parties, algod, payTo: keyOf('bench seller').address, profile, notes: new Set() }
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

const [loadBefore] = loadavg()
const rows = await inMarket(bench, async market => {
  const server = await market.start('ours', { options: { idempotency: {} } })
  const quote = await quoteOf(server.url, '/work', BODY)
  await honest(market, server, quote, WARM_UP_MS)
  const ms = minutes * 60_000
  const used = async work => {
    const [beforeUs, waitedMs, beforeMs] = [await server.cpuUs(), waitedMsOf(server), performance.now()]
    const done = await work()
    const tookMs = performance.now() - beforeMs
    const cpuMs = ((await server.cpuUs()) - beforeUs) / 1_000
    return { ...done, tookMs, cpuMs, waitedMs: waitedMsOf(server) - waitedMs }
  }
  const alone = await used(() => honest(market, server, quote, ms))
  const file = fileURLToPath(new URL('garbage.mjs', import.meta.url))
  const garbage = fork(file, [JSON.stringify({ url: server.url, perSecond: garbagePerSecond })])
  const beside = await used(async () => {
    const paid = await honest(market, server, quote, ms)
    garbage.send('stop')
    const [sent] = await once(garbage, 'message')
    return { ...paid, garbage: sent }
  })
  return { alone, beside, rssMb: (await server.sample()).rss / 1_048_576 }
})
await facilitator.stop()
await algod.close()

console.log(
  '| payers | paid calls | answered | p50 | p99 | the server ran | and waited for a processor |\n|---|--:|--:|--:|--:|--:|--:|',
)
for (const name of ['alone', 'beside']) {
  const { sent, answered, p50Ms, p99Ms, cpuMs, waitedMs, tookMs } = rows[name]
  const figures = [
    name === 'alone' ? 'alone' : 'beside garbage',
    sent,
    `${((100 * answered) / sent).toFixed(2)} %`,
    `${p50Ms.toFixed(1)} ms`,
    `${p99Ms.toFixed(1)} ms`,
    `${((100 * cpuMs) / tookMs).toFixed(0)} %`,
    `${((100 * waitedMs) / tookMs).toFixed(0)} %`,
  ]
  console.log(`| ${figures.join(' | ')} |`)
}
const { alone, beside, rssMb } = rows
const { statuses, answerBytes, skipped, megabytes } = beside.garbage
const pieces = Object.values(statuses).reduce((sum, count) => sum + count, 0)
const garbageMs = beside.cpuMs - (alone.cpuMs * beside.answered) / alone.answered
const machine = `${availableParallelism()} × ${cpus()[0].model.trim()}, Node ${process.version}`
console.log(`
${minutes} minutes each, ${perSecond} paid calls and ${garbagePerSecond} pieces of garbage a second. Garbage: ${pieces} pieces, ${megabytes.toFixed(0)} MB, answered ${JSON.stringify(statuses)} with ${answerBytes} bytes in all; ${(garbageMs / pieces).toFixed(1)} ms of the server's processor each; ${skipped} were not sent, because too many waited. Memory of the server at the end: ${rssMb.toFixed(0)} MB. ${machine}, load average ${loadBefore.toFixed(1)} before and ${loadavg()[0].toFixed(1)} after.`)

/** How long its main thread could have run, and other programs of this machine ran instead. NaN where the system does not say it. */
function waitedMsOf({ pid }) {
  const file = `/proc/${pid}/schedstat`
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split(' ')[1]) / 1_000_000 : Number.NaN
}

/** So many paid calls a second, whether or not the server keeps up. A call's time counts from when it was due. */
async function honest(market, { url }, quote, ms) {
  const calls = []
  const times = []
  const startedMs = performance.now()
  async function call(dueMs) {
    const payment = paymentHeader(await market.sign(quote), quote)
    try {
      const response = await fetch(`${url}/work`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'PAYMENT-SIGNATURE': payment,
          'Idempotency-Key': randomUUID(),
        },
        body: JSON.stringify(BODY),
      })
      await response.arrayBuffer()
      if (response.status === 200) times.push(performance.now() - dueMs)
    } catch {
      // It counts as not answered.
    }
  }
  await new Promise(resolve => {
    const ticking = setInterval(() => {
      const nowMs = performance.now()
      const until = Math.min(nowMs - startedMs, ms)
      for (; calls.length < (until / 1_000) * perSecond; ) calls.push(call(nowMs))
      if (nowMs - startedMs < ms) return
      clearInterval(ticking)
      resolve()
    }, TICK_MS)
  })
  await Promise.all(calls)
  const sorted = times.sort((a, b) => a - b)
  const at = share => sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
  return { sent: calls.length, answered: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99) }
}
