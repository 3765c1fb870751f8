/** The client that users make. */

import { type ClientOptions, settingsOf } from './client-options.js'
import { PayingClient } from './paying-client.js'

/**
 * Calls endpoints and pays for them, within its limits. It signs one payment a call (see `quote` of {@link CallOptions}), only
 * USDC, only on its own network, and only what the quote said. In a browser a wallet's `signer` takes the place of the key.
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
