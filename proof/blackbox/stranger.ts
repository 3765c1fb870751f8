import type { Market } from './buyers.js'
import { fetchFrom } from './fetch-from.js'
import type { Sent } from './history.js'
import { paymentIn } from './proof-of-payer.js'

const STRANGERS_ADDRESS = '127.0.0.66'

/** Sends again what a buyer sent, from another address: the payment, with no key or with one that can be guessed. */
export function stranger({ url, history, timeoutMs }: Market) {
  return async (random: () => number): Promise<void> => {
    // What landed is on the chain, for all to read. What did not is known to the seller and its facilitator alone.
    const receipts = new Map(
      history.lines.flatMap(line => (line.what === 'got' && line.txId ? [[line.exchange, line.txId]] : [])),
    )
    const line = pick(
      history.lines.filter(
        line => line.what === 'sent' && receipts.has(line.exchange) && line.buyer !== 'stranger',
      ),
      random,
    ) as Sent
    if (line?.payment === undefined || paymentIn(line.payment).txId !== receipts.get(line.exchange)) return
    const send = history.recording(
      'stranger',
      `stranger of ${line.purchase}`,
      fetchFrom(STRANGERS_ADDRESS, timeoutMs),
    )
    const headers = new Headers({
      'content-type': 'application/json',
      'payment-signature': asOnChain(line.payment),
    })
    if (random() < 0.5) headers.set('idempotency-key', random() < 0.5 ? '1' : 'order-1')
    await send(url + line.path, { method: 'POST', headers, body: line.body }).catch(() => {})
  }
}

function pick<T>(from: readonly T[], random: () => number): T | undefined {
  return from[Math.floor(random() * from.length)]
}

/** A payment as whoever reads the chain can make it up: the signed group, and terms that are public. Its identifier is not. */
function asOnChain(header: string): string {
  const { x402Version, resource, accepted, payload } = JSON.parse(Buffer.from(header, 'base64').toString())
  return Buffer.from(JSON.stringify({ x402Version, resource, accepted, payload })).toString('base64')
}
