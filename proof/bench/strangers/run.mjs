/**
 * Honest payers alone, and then beside garbage at every door of the same server: how many of them are answered, and how fast.
 *
 *   node proof/bench/strangers/run.mjs [--minutes 10] [--payers 20] [--garbage 20]
 *
 * `payers` and `garbage` are requests a second. A piece of garbage has up to 1 MB.
 */
import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { availableParallelism, cpus, loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { algodClient } from '../../../dist/src/adapters/algorand/node-clients.js'
import { inMarket } from '../market.mjs'
import { keyOf, paymentHeader, quoteOf } from '../payments.mjs'
import { start } from '../process.mjs'
import { BODY } from '../rows.mjs'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    payers: { type: 'string', default: '20' },
    garbage: { type: 'string', default: '20' },
  },
})
const [minutes, perSecond, garbagePerSecond] = [values.minutes, values.payers, values.garbage].map(Number)
const TICK_MS = 5
const WARM_UP_MS = 3_000

const parties = { feePayer: keyOf('bench sponsor').address, payer: keyOf('bench payer').address }
const facilitator = await start('facilitator', parties)
const algod = algodClient({ url: facilitator.url })
const bench = { facilitator, parties, algod, payTo: keyOf('bench seller').address, notes: new Set() }
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

const [loadBefore] = loadavg()
const rows = await inMarket(bench, async market => {
  const server = await market.start('ours', { options: { idempotency: {} } })
  const quote = await quoteOf(server.url, '/work', BODY)
  await honest(market, server, quote, WARM_UP_MS)
  const ms = minutes * 60_000
  const alone = await honest(market, server, quote, ms)
  const file = fileURLToPath(new URL('garbage.mjs', import.meta.url))
  const garbage = fork(file, [JSON.stringify({ url: server.url, perSecond: garbagePerSecond })])
  const beside = await honest(market, server, quote, ms)
  garbage.send('stop')
  const [sent] = await once(garbage, 'message')
  return { alone, beside, sent, rssMb: (await server.sample()).rssMb }
})
await facilitator.stop()
await algod.close()

console.log('| payers | paid calls | answered | p50 | p99 |\n|---|--:|--:|--:|--:|')
for (const name of ['alone', 'beside']) {
  const { sent, answered, p50Ms, p99Ms } = rows[name]
  const share = ((100 * answered) / sent).toFixed(2)
  console.log(
    `| ${name === 'alone' ? 'alone' : 'beside garbage'} | ${sent} | ${share} % | ${p50Ms.toFixed(1)} ms | ${p99Ms.toFixed(1)} ms |`,
  )
}
const machine = `${availableParallelism()} × ${cpus()[0].model.trim()}, Node ${process.version}`
console.log(
  `\n${minutes} minutes each, ${perSecond} paid calls and ${garbagePerSecond} pieces of garbage a second: ${JSON.stringify(rows.sent)}. ${machine}, load average ${loadBefore.toFixed(1)} before.`,
)

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
