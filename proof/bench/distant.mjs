/**
 * How long a paid call takes beyond its two trips to a facilitator that is 50 ms away, and how many connections the facilitator sees.
 * A trip is as long as the facilitator held the request: its timer of 50 ms may take 53.
 */
import { setTimeout } from 'node:timers/promises'
import { CONNECTIONS } from './load.mjs'
import { inMarket } from './market.mjs'
import { openTo } from './one-connection.mjs'
import { nextPaid } from './payments.mjs'
import { BODY } from './rows.mjs'
import { markdown } from './table.mjs'

const TRIP_MS = 50
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
      const { next, quote, txIds } = await nextPaid(market, server, '/work', BODY)
      found.header ??= quote.header
      await answeredIn(server, next, WARM_UP_CALLS)
      const ms = await answeredIn(server, next, CALLS)
      const { connections, requests, heldMs } = await seenBy(facilitator)
      const beyondMs = ms.map((took, at) => took - heldMs[txIds[WARM_UP_CALLS + at]])
      found.push({ name, ms: sorted(ms), beyondMs: sorted(beyondMs), connections, requests })
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
    // In turn: the server closes one that waited for 5 s.
    const connection = free.shift()
    const tookMs = await connection.whole(request)
    free.push(connection)
    return tookMs
  })
  const ms = await Promise.all(times)
  for (const connection of free) connection.close()
  return ms
}

function sorted(times) {
  return [...times].sort((one, other) => one - other)
}

async function seenBy({ url }) {
  return (await fetch(`${url}/seen`)).json()
}

export function distantTableOf([found]) {
  const at = (times, share) => times[Math.ceil(times.length * share) - 1]
  const lines = found.map(({ name, ms, beyondMs, connections, requests }, which) => {
    const beyond = at(beyondMs, 0.99)
    return [
      name,
      ...[at(ms, 0.5), at(ms, 0.99), at(beyondMs, 0.5), beyond].map(value => `${value.toFixed(1)} ms`),
      `${connections} for ${requests.toLocaleString('en-US')}`,
      ...(which === 0 ? [`≤ ${BAR_MS} ms`, beyond <= BAR_MS ? 'met' : 'MISSED'] : []),
    ]
  })
  return markdown(
    [
      'paid call, a facilitator 50 ms away',
      'p50',
      'p99',
      'beyond its two trips: p50',
      'p99',
      'connections, for requests',
      'bar',
      '',
    ],
    lines,
  )
}
