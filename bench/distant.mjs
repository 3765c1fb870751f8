/** How long a paid call takes where each trip to the facilitator takes 50 ms, and how many connections the facilitator sees. */
import { setTimeout } from 'node:timers/promises'
import { CONNECTIONS } from './load.mjs'
import { inMarket } from './market.mjs'
import { openTo } from './one-connection.mjs'
import { nextPaid } from './payments.mjs'
import { BODY } from './rows.mjs'
import { markdown } from './table.mjs'

const TRIP_MS = 50
const TRIPS = 2
const BAR_MS = 3
const EVERY_MS = 10
const CALLS = 1_000
const WARM_UP_CALLS = 500

export function distant(bench) {
  return inMarket(bench, async market => {
    const found = []
    for (const [file, name] of [
      ['ours', 'ours'],
      ['koa', 'Koa and @koa/router'],
      ['express', '@x402/express'],
    ]) {
      const facilitator = await market.start('facilitator', { ...market.parties, delayMs: TRIP_MS })
      const header = file === 'koa' ? found.header : undefined
      const server = await market.start(file, { facilitatorUrl: facilitator.url, header })
      const { next, quote } = await nextPaid(market, server, '/work', BODY)
      found.header ??= quote.header
      await answeredIn(server, next, WARM_UP_CALLS)
      found.push({
        name,
        ms: await answeredIn(server, next, CALLS),
        ...(await seenBy(facilitator)),
      })
      await server.stop()
    }
    return found
  })
}

/**
 * The milliseconds of each call. One begins every 10 ms, whether or not the ones before have ended: where all begin together, each
 * waits for the CPU of the others, and not for the facilitator.
 */
async function answeredIn(server, next, calls) {
  const requests = await Promise.all(Array.from({ length: calls }, next))
  const free = await Promise.all(Array.from({ length: CONNECTIONS }, () => openTo(server)))
  const startMs = performance.now()
  const times = requests.map(async (request, at) => {
    await setTimeout(startMs + at * EVERY_MS - performance.now())
    const connection = free.pop()
    const tookMs = await connection.whole(request)
    free.push(connection)
    return tookMs
  })
  const sorted = (await Promise.all(times)).sort((one, other) => one - other)
  for (const connection of free) connection.close()
  return sorted
}

async function seenBy({ url }) {
  return (await fetch(`${url}/connections`)).json()
}

export function distantTableOf([found]) {
  const at = (sorted, share) => sorted[Math.ceil(sorted.length * share) - 1]
  const lines = found.map(({ name, ms, connections, requests }, which) => {
    const [p50, p99] = [at(ms, 0.5), at(ms, 0.99)]
    const beyond = p99 - TRIPS * TRIP_MS
    return [
      name,
      ...[p50, p99, beyond].map(value => `${value.toFixed(1)} ms`),
      `${connections} for ${requests.toLocaleString('en-US')}`,
      ...(which === 0 ? [`≤ ${BAR_MS} ms`, beyond <= BAR_MS ? 'met' : 'MISSED'] : []),
    ]
  })
  return markdown(
    [
      'paid call, a facilitator 50 ms away',
      'p50',
      'p99',
      'p99 beyond two trips',
      'connections, for requests',
      'bar',
      '',
    ],
    lines,
  )
}
