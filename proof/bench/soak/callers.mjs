/** Callers of one server: of eight, three ask for a quote, three pay (one for a stream), and two call on a balance. No two are alike. */
import { randomUUID } from 'node:crypto'
import { post } from '../load.mjs'
import { openTo } from '../one-connection.mjs'
import { paymentHeader, quoteOf } from '../payments.mjs'
import { BODY, saleOfBalance } from '../rows.mjs'

const CONNECTIONS = 32
/** Callers come and go: a connection ends after so many requests. */
const REQUESTS_A_CONNECTION = 500
const TICK_MS = 5

export async function callers(market, server) {
  const quote = await quoteOf(server.url, '/work', BODY)
  const streamed = await quoteOf(server.url, '/stream', BODY)
  let count = 0
  let times = []
  let ticking
  const idle = []
  const due = []
  const busy = new Set()

  const balance = {
    'x-svc-balance-key': (await saleOfBalance(market, server)).headers.get('x-svc-balance-key'),
  }
  const paidFor = async quoted => ({ 'PAYMENT-SIGNATURE': paymentHeader(await market.sign(quoted), quoted) })
  const anyKey = () => ({ 'Idempotency-Key': randomUUID() })
  /** What a caller sends beside who it is, and the status that it must get. */
  const kinds = [
    async () => ['402', '/work', {}],
    async () => ['200', '/work', { ...(await paidFor(quote)), ...anyKey() }],
    async () => ['402', '/work', {}],
    async () => ['200', '/work', { ...balance, ...anyKey() }],
    async () => ['402', '/stream', {}],
    async () => ['200', '/stream', { ...(await paidFor(streamed)), ...anyKey() }],
    async () => ['200', '/work', { ...(await paidFor(quote)), ...anyKey() }],
    async () => ['200', '/work', { ...balance, ...anyKey() }],
  ]

  async function request() {
    const caller = count++
    const [expects, path, headers] = await kinds[caller % kinds.length]()
    const who = {
      'X-Forwarded-For': [10, (caller >> 16) & 255, (caller >> 8) & 255, caller & 255].join('.'),
      Origin: `https://caller-${caller}.example`,
    }
    return { expects, bytes: post(server.url, path, BODY, { ...who, ...headers }) }
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
