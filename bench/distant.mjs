/**
 * How long a paid call takes where each trip to the facilitator takes 50 ms, and how many connections the facilitator sees. At 32
 * calls at once the processes are a quarter busy: what is seen is the waiting.
 */
import { CONNECTIONS } from './load.mjs'
import { inMarket } from './market.mjs'
import { openTo } from './one-connection.mjs'
import { nextPaid } from './payments.mjs'
import { BODY } from './rows.mjs'
import { markdown } from './table.mjs'

const TRIP_MS = 50
const TRIPS = 2
const BAR_MS = 3
const CALLS_A_CONNECTION = 40
const WARM_UP_CALLS = 20

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
        ms: await answeredIn(server, next, CALLS_A_CONNECTION),
        ...(await seenBy(facilitator)),
      })
      await server.stop()
    }
    return found
  })
}

/** The milliseconds of each call, over as many connections as in the other rows. */
async function answeredIn(server, next, calls) {
  const requests = await Promise.all(Array.from({ length: CONNECTIONS * calls }, next))
  const times = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const connection = await openTo(server)
      const own = []
      for (let at = 0; at < calls; at++) own.push(await connection.whole(requests.pop()))
      connection.close()
      return own
    }),
  )
  return times.flat().sort((a, b) => a - b)
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
