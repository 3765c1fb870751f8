/** The paying client in Node: with a key of its own. */
import { type ClientOptions, settingsOf } from './options.js'
import { PayingClient } from './paying-client.js'

/**
 * Calls endpoints and pays for them, within the limits that it was given. It signs one payment a call, only USDC, only on
 * its own network, and only what the quote said.
 *
 * @example
 * const caps = { maxPrice: '$0.05', maxPerDay: '$2' }
 * const client = new SvcClient({ mnemonic: process.env.SVC_MNEMONIC, network: 'testnet', ...caps })
 * const { data, payment } = await client.call('https://agent.example/summarize', { text })
 */
export class SvcClient extends PayingClient {
  /** @throws SvcError `invalid_key`, `invalid_price`, `invalid_options` */
  constructor(options: ClientOptions = {}) {
    super(settingsOf(options))
  }
}
