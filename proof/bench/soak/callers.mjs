/** Callers of one server: half of them pay, half of them ask for a quote. No two are alike. */
import { randomUUID } from 'node:crypto'
import { post } from '../load.mjs'
import { openTo } from '../one-connection.mjs'
import { paymentHeader, quoteOf } from '../payments.mjs'
import { BODY } from '../rows.mjs'

const CONNECTIONS = 32
/** Callers come and go: a connection ends after so many requests. */
const REQUESTS_A_CONNECTION = 500
const TICK_MS = 5

export async function callers(market, server) {
  const quote = await quoteOf(server.url, '/work', BODY)
  let count = 0
  let times = []
  let ticking
  const idle = []
  const due = []
  const busy = new Set()

  async function request() {
    const caller = count++
    const headers = {
      'X-Forwarded-For': [10, (caller >> 16) & 255, (caller >> 8) & 255, caller & 255].join('.'),
      Origin: `https://caller-${caller}.example`,
    }
    if (caller % 2 === 0) return { expects: '402', bytes: post(server.url, '/work', BODY, headers) }
    const payment = paymentHeader(await market.sign(quote), quote)
    const paying = { ...headers, 'PAYMENT-SIGNATURE': payment, 'Idempotency-Key': randomUUID() }
    return { expects: '200', bytes: post(server.url, '/work', BODY, paying) }
  }

  async function exchange(connection, sinceMs) {
    const { expects, bytes } = await request()
    await connection.whole(bytes, expects)
    times.push(performance.now() - sinceMs)
  }

  /** One exchange after another, for as long as it is wanted. */
  async function withConnections(wanted) {
    let connection = await openTo(server)
    for (let sent = 0; ; sent++) {
      const sinceMs = await wanted()
      if (sinceMs === undefined) break
      if (!connection.isOpen || (sent > 0 && sent % REQUESTS_A_CONNECTION === 0)) {
        connection.close()
        connection = await openTo(server)
      }
      await exchange(connection, sinceMs)
    }
    connection.close()
  }

  return {
    all: wanted => Promise.all(Array.from({ length: CONNECTIONS }, () => withConnections(wanted))),
    /** Sends so many requests a second, whether or not the server keeps up: the waiting counts. */
    begin(rate) {
      const startedMs = performance.now()
      let begun = 0
      ticking = setInterval(() => {
        const nowMs = performance.now()
        for (; begun < ((nowMs - startedMs) / 1_000) * rate; begun++) {
          // In turn: a server closes a connection that waits for long.
          const waiting = idle.shift()
          if (waiting) waiting(nowMs)
          else due.push(nowMs)
        }
      }, TICK_MS)
      const next = () => due.shift() ?? new Promise(resolve => idle.push(resolve))
      busy.add(this.all(next))
    },
    /** The latencies since the last sample. */
    sample() {
      const sorted = times.sort((a, b) => a - b)
      times = []
      const at = share => sorted[Math.ceil(sorted.length * share) - 1]
      return { answers: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99) }
    },
    async end() {
      clearInterval(ticking)
      due.length = 0
      for (const resolve of idle.splice(0)) resolve(undefined)
      const ending = setInterval(() => {
        for (const resolve of idle.splice(0)) resolve(undefined)
      }, TICK_MS)
      await Promise.all(busy)
      clearInterval(ending)
    },
  }
}

/** Answers a second where every connection sends the next request at once. */
export async function most(load, forMs) {
  const untilMs = performance.now() + forMs
  load.sample()
  await load.all(async () => (performance.now() < untilMs ? performance.now() : undefined))
  return load.sample().answers / (forMs / 1_000)
}
