/** What a program on this runtime asks of others. */
import { SvcClient } from '@svc/sdk/client'
import { exchangeTo } from './node_modules/@svc/sdk/dist/lib/fetch-runtime.js'

export const errands = {
  async buy({ MNEMONIC, SANDBOX, SELLER_URL }) {
    const client = new SvcClient({
      mnemonic: MNEMONIC,
      network: 'testnet',
      algodUrl: SANDBOX,
      maxPrice: '$0.05',
      maxPerDay: '$1',
    })
    const { data, payment } = await client.call(SELLER_URL, { text: 'hello' })
    const { usdc } = await client.balance()
    return { data, txId: payment.txId, usdc: String(usdc) }
  },

  /** Asks a hostile facilitator, once a path. */
  async ask({ HOSTILE_URL, PATHS, TIMEOUT_MS }) {
    const exchange = exchangeTo(HOSTILE_URL, {
      connectionsMax: 64,
      bytesMax: 64 * 1024,
      isEnough: status => status >= 500,
    })
    const ask = path =>
      exchange.send({ method: 'POST', path, headers: {}, body: '{}', timeoutMs: Number(TIMEOUT_MS) })
    return Promise.all(PATHS.split(' ').map(ask))
  },
}
