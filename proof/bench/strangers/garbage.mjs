/** A process that sends garbage to every door of a server, at a rate, until it is told to stop. It pays nothing. */
import { randomBytes, randomInt } from 'node:crypto'
import { BODY } from '../rows.mjs'

const { url, perSecond } = JSON.parse(process.argv[2])
const TICK_MS = 50
/** More would be a test of sockets. */
const WAITING_MAX = 64

const list = (count, text) => `[${Array(count).fill(text).join(',')}]`
const keys = count => `{${Array.from({ length: count }, (_, at) => `"k${at}":0`).join(',')}}`
const SHAPES = [
  list(300_000, '0'),
  list(200_000, '{}'),
  keys(60_000),
  list(10_000, `${'['.repeat(40)}${']'.repeat(40)}`),
  `"${'x'.repeat(900_000)}"`,
  '9'.repeat(300_000),
  '{',
]
const rpc = (method, params, id = '1') =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`
const payment = () =>
  JSON.stringify({
    x402Version: 2,
    payload: { paymentGroup: [randomBytes(300).toString('base64')], paymentIndex: 0 },
  })
const DOORS = [
  shape => ({ path: '/work', body: shape }),
  shape => ({
    path: '/a2a',
    body: rpc('message/send', `{"message":{"role":"user","parts":[{"data":${shape}}]}}`),
  }),
  shape => ({ path: '/a2a', body: rpc('message/send', '{}', shape) }),
  shape => ({ path: '/mcp', body: rpc('initialize', `{"capabilities":{"experimental":${shape}}}`) }),
  shape => ({
    path: '/mcp',
    body: rpc(
      'initialize',
      `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1","icons":${shape}}}`,
    ),
  }),
  shape => ({ path: '/mcp', body: rpc('tools/call', `{"name":"work","arguments":{},"_meta":${shape}}`) }),
  shape => ({ path: '/mcp', body: rpc('tools/list', '{}', shape) }),
  () => ({ path: '/work', body: JSON.stringify(BODY), headers: { 'PAYMENT-SIGNATURE': btoa(payment()) } }),
  () => ({ path: '/work', body: JSON.stringify(BODY), headers: { 'PAYMENT-SIGNATURE': 'A'.repeat(12_000) } }),
]

const statuses = {}
let waiting = 0
let answerBytes = 0
let megabytes = 0
let skipped = 0
const one = items => items[randomInt(items.length)]

async function send() {
  const { path, body, headers } = one(DOORS)(one(SHAPES))
  waiting++
  megabytes += body.length / 1_000_000
  try {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
    answerBytes += (await response.arrayBuffer()).byteLength
    statuses[response.status] = (statuses[response.status] ?? 0) + 1
  } catch {
    statuses.lost = (statuses.lost ?? 0) + 1
  }
  waiting--
}

const startedMs = performance.now()
let begun = 0
const ticking = setInterval(() => {
  const due = ((performance.now() - startedMs) / 1_000) * perSecond
  for (; begun < due; begun++) {
    if (waiting < WAITING_MAX) void send()
    else skipped++
  }
}, TICK_MS)
process.once('message', () => {
  clearInterval(ticking)
  process.send({ statuses, answerBytes, megabytes, skipped }, () => process.exit())
})
