/** Payments signed before anything is measured. All are different: ours refuses a payment that is presented twice. */
import { createHash } from 'node:crypto'
import { algorandPaymentSigner } from '../../dist/src/adapters/algorand/sign-payment-group.js'
import { signingKeyFromSeed } from '../../dist/src/adapters/algorand/signing-keys.js'
import { TESTNET } from '../../dist/src/domain/network.js'
import { post } from './load.mjs'

const seedOf = name => createHash('sha256').update(name).digest()

export const keyOf = name => signingKeyFromSeed(seedOf(name))

const payer = keyOf('bench payer')

/** As the official client takes it: base64 of seed and public key. */
const secretKeyOf = name => Buffer.concat([seedOf(name), keyOf(name).publicKey]).toString('base64')

/** The payer's. */
export const SECRET_KEY = secretKeyOf('bench payer')
export const SPONSOR_SECRET_KEY = secretKeyOf('bench sponsor')

/** A quote as the server gave it, decoded. */
export async function quoteOf(url, path, body) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (response.status !== 402) throw new Error(`${url}${path} answered ${response.status}, not 402`)
  const header = response.headers.get('payment-required')
  return { header, ...JSON.parse(Buffer.from(header, 'base64').toString()) }
}

/** The payload of one more payment, under this quote, by each payer in turn. */
export function paymentSigner(algod, payers = [payer]) {
  const signers = payers.map(key =>
    algorandPaymentSigner({ key, network: TESTNET, algod, paramsMaxAgeMs: 3_600_000 }),
  )
  let signed = 0
  return async quote => {
    const { payload, txId } = await signers[signed++ % signers.length].sign(quote, quote.accepts[0])
    return { ...payload.payload, txId }
  }
}

/** Grows on demand. Every contender is paid with the same payments, each once. */
export function paymentPool(quote, algod, payers) {
  const sign = paymentSigner(algod, payers)
  const pool = []
  return async count => {
    while (pool.length < count) pool.push(await sign(quote))
    return pool
  }
}

const TERMS = ['scheme', 'network', 'amount', 'asset', 'payTo', 'maxTimeoutSeconds']

/** The `PAYMENT-SIGNATURE` header with which a client pays this quote, as the official client lays it out. */
export function paymentHeader(payload, { x402Version, extensions, resource, accepts }) {
  const payment = { x402Version, payload, extensions, resource, accepted: accepts[0] }
  return Buffer.from(JSON.stringify(payment)).toString('base64')
}

/** The bytes of the next paid request of this endpoint, each with another payment. `txIds` are those of the payments, in order. */
export async function nextPaid(market, server, path, body) {
  const quote = await quoteOf(server.url, path, body)
  const pool = market.payments(quote)
  const txIds = []
  let used = 0
  const next = async () => {
    const mine = used++
    const payments = await pool(mine + 1)
    txIds[mine] = payments[mine].txId
    const payment = paymentHeader(payments[mine], quote)
    return post(server.url, path, body, { 'PAYMENT-SIGNATURE': payment })
  }
  return { quote, next, txIds }
}

export function assertSameTerms(quotes) {
  const terms = quotes.map(({ accepts }) => JSON.stringify(TERMS.map(name => accepts[0][name])))
  if (new Set(terms).size > 1) throw new Error(`quotes differ:\n${terms.join('\n')}`)
}
