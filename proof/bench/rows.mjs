/**
 * The rows that put load on servers. Each starts its contenders, ours first, and says for every one of them where the
 * next requests come from. `market` starts servers that share one facilitator, and stops them when the row is over.
 */

import { BALANCE } from './contenders/balance.mjs'
import { post } from './load.mjs'
import { assertSameTerms, paymentHeader, quoteOf } from './payments.mjs'

export const BODY = { text: 'the quick brown fox', times: 3 }

/** Ready payments for a first round; later ones have half as many again as the fastest round has used. */
const FIRST_PAYMENTS = 2_000

async function unpaid(market) {
  const ours = await market.start('ours')
  const { header } = await quoteOf(ours.url, '/work', BODY)
  const koa = await market.start('koa', { header })
  const express = await market.start('express')
  const hono = await market.start('hono')
  const asks = server => same(post(server.url, '/work', BODY))
  return {
    title: 'unpaid call: 402 and a quote',
    expects: 402,
    contenders: [
      { name: 'ours', server: ours, requests: asks(ours) },
      { name: 'Koa and @koa/router', server: koa, requests: asks(koa), bar: 0.85 },
      { name: '@x402/express', server: express, requests: asks(express) },
      { name: '@x402/hono', server: hono, requests: asks(hono) },
    ],
  }
}

/** A paid call may cost 2.2 times what Koa takes with the same two trips. */
const PAID_BAR = 0.45

async function paid(market) {
  const ours = await market.start('ours')
  const quote = await quoteOf(ours.url, '/work', BODY)
  const others = [
    {
      name: 'Koa and @koa/router',
      server: await market.start('koa', { header: quote.header }),
      cpuBar: PAID_BAR,
    },
    { name: '@x402/express', server: await market.start('express') },
    { name: '@x402/hono', server: await market.start('hono') },
  ]
  const contenders = [{ name: 'ours', server: ours }, ...others]
  return {
    title: 'paid call, a facilitator that answers at once',
    expects: 200,
    contenders: await allPaying(market, contenders),
  }
}

export async function allPaying(market, contenders, payers) {
  const quotes = await Promise.all(contenders.map(({ server }) => quoteOf(server.url, '/work', BODY)))
  assertSameTerms(quotes)
  const pool = market.payments(quotes[0], payers)
  return contenders.map((contender, at) => ({
    ...contender,
    requests: paying(contender.server, quotes[at], pool),
  }))
}

/** The very payments for everybody, each with the `accepted` of the server's own quote, as a client would send it. */
function paying(server, quote, pool, path = '/work') {
  let used = 0
  let wanted = FIRST_PAYMENTS
  return async () => {
    const payments = (await pool(used + wanted)).slice(used, used + wanted)
    const requests = payments.map(payload =>
      post(server.url, path, BODY, { 'PAYMENT-SIGNATURE': paymentHeader(payload, quote) }),
    )
    let at = 0
    return {
      next: () => requests[at++],
      ended() {
        const sent = Math.min(at, requests.length)
        used += sent
        wanted = Math.max(wanted, Math.ceil(sent * 1.5))
      },
    }
  }
}

async function subscription(market) {
  const ours = await market.start('ours')
  const koa = await market.start('koa')
  const key = await windowOf(market, ours)
  return {
    title: 'call in a subscription window',
    expects: 200,
    contenders: [
      { name: 'ours', server: ours, requests: same(post(ours.url, '/window', BODY, key)) },
      {
        name: 'Koa, @koa/router and ajv',
        server: koa,
        requests: same(post(koa.url, '/window', BODY, key)),
        bar: 0.85,
      },
    ],
  }
}

export const saleOfBalance = (market, server) => sale(market, server, '/balance', { amount: BALANCE })

export async function balanceKeyOf(market, server) {
  const { headers } = await saleOfBalance(market, server)
  return { 'x-svc-balance-key': headers.get('x-svc-balance-key') }
}

/** A balance and a window of calls, each with a new key a call: both are counted before the next call. */
async function balance(market) {
  const ours = await market.start('ours', REPLAYS)
  const window = await windowOf(market, ours, '/calls')
  const key = await balanceKeyOf(market, ours)
  return {
    title: 'call on a balance',
    expects: 200,
    contenders: [
      { name: 'ours, on a balance', server: ours, requests: keyed(ours, '/work', key) },
      {
        name: 'ours, in a counted window',
        server: ours,
        requests: same(post(ours.url, '/calls', BODY, window)),
      },
      {
        name: 'ours, in a counted window, with a key',
        server: ours,
        requests: keyed(ours, '/calls', window),
        cpuBar: 0.9,
      },
    ],
  }
}

let keys = 0

export function keyed({ url }, path, headers) {
  const next = () =>
    post(url, path, BODY, { ...headers, 'Idempotency-Key': `bench-key-${keys++}-of-32-characters-each` })
  return () => ({ next, ended() {} })
}

/** It may cost 1.15 of the same call by handler: the handler's CPU is at least 0.87 of its own. */
const BY_HANDLER = { cpuBar: 0.87 }

/** The very upstream by `upstream` and by a handler that asks it. */
async function upstreamPaid(market) {
  const { url: upstream } = await market.start('upstream')
  const paidAt = async (name, path, more) => {
    const server = await market.start('ours', { upstream })
    const quote = await quoteOf(server.url, path, BODY)
    return { name, server, requests: paying(server, quote, market.payments(quote), path), ...more }
  }
  return {
    title: 'paid call of a server behind it',
    expects: 200,
    contenders: [
      await paidAt('ours, `upstream`', '/forwards'),
      await paidAt('ours, a handler that asks it by undici', '/asks', BY_HANDLER),
    ],
  }
}

async function upstreamWindow(market) {
  const { url: upstream } = await market.start('upstream')
  const koa = await market.start('koa', { upstream })
  const inWindow = async (name, path, more) => {
    const server = await market.start('ours', { upstream })
    const key = await windowOf(market, server, path)
    return { name, server, requests: same(post(server.url, path, BODY, key)), ...more }
  }
  return {
    title: 'call of a server behind it, in a window',
    expects: 200,
    contenders: [
      await inWindow('ours, `upstream`', '/forwards-window'),
      await inWindow('ours, a handler that asks it by undici', '/asks-window', BY_HANDLER),
      {
        name: 'Koa, a plain proxy by undici',
        server: koa,
        requests: same(post(koa.url, '/proxied', BODY)),
        bar: 0.8,
      },
    ],
  }
}

/** The headers that open a window, sold at this server. */
export async function windowOf(market, server, path = '/window') {
  const sold = await sale(market, server, path, BODY)
  return { 'x-svc-subscription': sold.headers.get('x-svc-subscription') }
}

async function sale(market, server, path, body) {
  const payment = await market.payOnce(server, path, body)
  return call(server, path, { 'PAYMENT-SIGNATURE': payment }, body)
}

export const REPLAYS = { options: { idempotency: { onLostResponse: 'replay' } } }

async function replay(market) {
  const ours = await market.start('ours', REPLAYS)
  const koa = await market.start('koa')
  const headers = await replayOf(market, ours)
  return {
    title: 'replay of an answer that was paid for',
    expects: 200,
    contenders: [
      { name: 'ours', server: ours, requests: same(post(ours.url, '/work', BODY, headers)) },
      { name: 'Koa and @koa/router', server: koa, requests: same(post(koa.url, '/replay', BODY, headers)) },
    ],
  }
}

/** Long enough to be random: with a shorter key, a payment that landed opens nothing. */
const REPLAYED_KEY = 'the-key-of-the-benchmark-8f3a1c5d7e90'

/** The headers of a call that was paid for at this server, and that it answers again. */
export async function replayOf(market, server) {
  const payment = await market.payOnce(server, '/work', BODY)
  const headers = { 'PAYMENT-SIGNATURE': payment, 'Idempotency-Key': REPLAYED_KEY }
  await call(server, '/work', headers)
  const again = await call(server, '/work', headers)
  if (again.headers.get('idempotency-replayed') !== 'true') throw new Error('the answer was not replayed')
  return headers
}

async function limited(market) {
  const ours = await market.start('ours', { options: { rateLimit: { perMinute: 1, per: 'ip' } } })
  const koa = await market.start('koa')
  await quoteOf(ours.url, '/work', BODY)
  return {
    title: 'call over the rate limit: 429',
    expects: 429,
    contenders: [
      { name: 'ours', server: ours, requests: same(post(ours.url, '/work', BODY)) },
      { name: 'Koa and @koa/router', server: koa, requests: same(post(koa.url, '/limited', BODY)) },
    ],
  }
}

async function endpoints(market) {
  const many = await market.start('ours', { endpoints: 1_000 })
  const one = await market.start('ours')
  const all = Array.from({ length: 1_000 }, (_, at) => (at === 0 ? '/work' : `/work-${at}`))
  return {
    title: 'unpaid call, 1,000 endpoints in turn',
    expects: 402,
    contenders: [
      {
        name: 'ours, 1,000 endpoints',
        server: many,
        requests: same(...all.map(path => post(many.url, path, BODY))),
      },
      { name: 'ours, 1 endpoint', server: one, requests: same(post(one.url, '/work', BODY)), bar: 0.95 },
    ],
  }
}

async function fetchUnpaid(market) {
  const ours = await market.start('fetch')
  const { header } = await quoteOf(ours.url, '/work', BODY)
  const plain = await market.start('hono-plain', { header })
  const hono = await market.start('hono')
  const asks = server => same(post(server.url, '/work', BODY))
  return {
    title: 'unpaid call, in a Hono app',
    expects: 402,
    contenders: [
      { name: 'ours, by fetch', server: ours, requests: asks(ours) },
      { name: 'Hono', server: plain, requests: asks(plain) },
      { name: '@x402/hono', server: hono, requests: asks(hono), cpuBar: 2 },
    ],
  }
}

async function fetchPaid(market) {
  const contenders = [
    { name: 'ours, by fetch', server: await market.start('fetch') },
    { name: '@x402/hono', server: await market.start('hono'), cpuBar: 5 },
  ]
  return {
    title: 'paid call, in a Hono app',
    expects: 200,
    contenders: await allPaying(market, contenders),
  }
}

const spellings = (path, title) => async market => {
  const both = await market.start('ours')
  const short = await market.start('ours', { options: { advanced: { networkIds: 'short' } } })
  const asks = server => same(post(server.url, path, BODY))
  return {
    title,
    expects: 402,
    contenders: [
      { name: 'ours, two entries', server: both, requests: asks(both) },
      { name: "ours, `networkIds: 'short'`", server: short, requests: asks(short) },
    ],
  }
}

/** What the second entry of a quote costs, where the quote is kept and where it is made for each call. */
/** Every payment of the second has a sponsor, whose key its own process holds. */
export async function inProcess(market) {
  const rest = await market.start('ours')
  const node = await market.start('node')
  const own = await market.start('ours', { ownFacilitator: true, algodUrl: node.url })
  const paidAt = async (name, server) => {
    const quote = await quoteOf(server.url, '/work', BODY)
    return { name, server, requests: paying(server, quote, market.payments(quote)) }
  }
  return {
    title: 'paid call, a facilitator over REST and one in the process',
    expects: 200,
    contenders: [
      await paidAt('ours, over REST: a facilitator that answers at once', rest),
      await paidAt('ours, in the process: a node that answers at once', own),
    ],
  }
}

/** A gate may cost at most 1.15 of the same call by a handler. */
const GATE_BAR = 0.87

const gates = framework => ({
  async [`${framework}GatePaid`](market) {
    const [gate, handler] = await gateAndHandler(market, framework)
    return {
      title: `paid call, ${framework}`,
      expects: 200,
      contenders: await allPaying(market, [gate, handler]),
    }
  },
  async [`${framework}GateWindow`](market) {
    const both = await gateAndHandler(market, framework)
    const contenders = both.map(async contender => {
      const { server } = contender
      const key = await windowOf(market, server)
      return { ...contender, requests: same(post(server.url, '/window', BODY, key)) }
    })
    const unpaid = async (sells, name) => {
      const server = await market.start('gate', { framework, sells })
      return { name, server, requests: same(post(server.url, '/window', BODY)) }
    }
    const plain = await unpaid('plain', 'the same route without a price')
    const bare = await unpaid('bare', 'a constant where the handler is mounted')
    return {
      title: `call in a window, ${framework}`,
      expects: 200,
      contenders: [...(await Promise.all(contenders)), plain, bare],
    }
  },
})

async function gateAndHandler(market, framework) {
  const start = sells => market.start('gate', { framework, sells })
  return [
    { name: 'a route behind a gate', server: await start('gated') },
    { name: 'a handler that the app mounts', server: await start('mounted'), cpuBar: GATE_BAR },
  ]
}

export const GATE_ROWS = Object.assign({}, ...['express', 'koa', 'hono', 'fastify'].map(gates))

export const QUOTE_ROWS = {
  quotesKept: spellings('/work', 'unpaid call, a fixed price'),
  quotesMade: spellings('/priced', 'unpaid call, a price of the call'),
}

export const UPSTREAM_ROWS = { upstreamPaid, upstreamWindow }

export const LOAD_ROWS = {
  unpaid,
  paid,
  subscription,
  balance,
  replay,
  limited,
  endpoints,
  fetchUnpaid,
  fetchPaid,
}

/** The same requests in turn, for as long as they are asked for. */
export function same(...requests) {
  let at = 0
  return () => ({ next: () => requests[at++ % requests.length], ended() {} })
}

async function call({ url }, path, headers, body = BODY) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  if (response.status !== 200)
    throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  return response
}
