/**
 * A seller that answers at once: the quote that it was given, or the answer and a receipt that names the payment. It checks
 * nothing, because what is measured is who calls it.
 */
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { encodeBase32 } from '../../../dist/src/adapters/algorand/address.js'
import { config, NETWORK, ready, work } from './child.mjs'

/** `{sig, txn}` in the encoding that both clients write: the signature, then the transaction. */
const SIGNED_HEAD_BYTES = 75
const ANSWER = JSON.stringify(work({ text: 'the quick brown fox' }))

let quote

const server = createServer((req, res) => {
  req.resume()
  req.on('end', () => {
    const payment = req.headers['payment-signature']
    const body = payment ? ANSWER : '{}'
    const header = payment ? { 'PAYMENT-RESPONSE': receiptOf(payment) } : { 'PAYMENT-REQUIRED': quote }
    const length = Buffer.byteLength(body)
    res.writeHead(payment ? 200 : 402, {
      'content-type': 'application/json',
      'content-length': length,
      ...header,
    })
    res.end(body)
  })
})

function receiptOf(payment) {
  const { payload } = JSON.parse(Buffer.from(payment, 'base64'))
  const signed = Buffer.from(payload.paymentGroup[payload.paymentIndex], 'base64')
  const hash = createHash('sha512-256').update('TX').update(signed.subarray(SIGNED_HEAD_BYTES)).digest()
  const receipt = { success: true, transaction: encodeBase32(hash), network: NETWORK }
  return headerOf(receipt)
}

function headerOf(value) {
  return Buffer.from(JSON.stringify(value)).toString('base64')
}

server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address()
  const { resource, ...terms } = config.quote
  quote = headerOf({ ...terms, resource: { ...resource, url: `http://127.0.0.1:${port}/work` } })
  ready(port)
})
