/**
 * A facilitator that answers yes, at once or `config.delayMs` later, and a node whose round stands still: what is measured is
 * the server in between.
 * The settled transaction's id is read back from the payment, where the bench has put it.
 */
import { createServer } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { config, NETWORK, ready } from './child.mjs'
import { PARAMS, STATUS } from './standing-chain.mjs'

const kind = { x402Version: 2, scheme: 'exact', network: NETWORK, extra: { feePayer: config.feePayer } }
const GET = {
  '/supported': JSON.stringify({ kinds: [kind], extensions: [], signers: {} }),
  '/v2/status': JSON.stringify(STATUS),
  '/v2/transactions/params': JSON.stringify(PARAMS),
}
const VALID = JSON.stringify({ isValid: true, payer: config.payer })

/** `heldMs`: how long the requests of each payment were held here, by its id. Timers are late by up to a few milliseconds. */
const seen = { connections: 0, requests: 0, heldMs: {} }
const server = createServer((req, res) => {
  const chunks = []
  req.on('data', chunk => chunks.push(chunk))
  req.on('end', async () => {
    if (req.url === '/seen') return res.end(JSON.stringify(seen))
    const text = Buffer.concat(chunks).toString()
    if (req.method === 'POST') {
      seen.requests++
      if (config.delayMs) await held(text)
    }
    const body = GET[req.url] ?? (req.url === '/verify' ? VALID : settled(txIdIn(text)))
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    res.end(body)
  })
})

async function held(text) {
  const startMs = performance.now()
  await setTimeout(config.delayMs)
  const txId = txIdIn(text)
  seen.heldMs[txId] = (seen.heldMs[txId] ?? 0) + performance.now() - startMs
}

function txIdIn(text) {
  return /"txId":"([A-Z2-7]{52})"/.exec(text)[1]
}

function settled(transaction) {
  return JSON.stringify({ success: true, transaction, network: NETWORK, payer: config.payer })
}

server.on('connection', () => seen.connections++)
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => ready(server.address().port))
