/** The paying client in a browser: somebody else holds the key. */
import { type BrowserClientOptions, browserSettingsOf } from './options.browser.js'
import { PayingClient } from './paying-client.js'

/**
 * As in Node, but that somebody else holds the key.
 *
 * @example
 * const { activeAddress: address, signTransactions } = useWallet()
 * const caps = { maxPrice: '$0.05', maxPerDay: '$2' }
 * const client = new SvcClient({ signer: { address, signTransactions }, network: 'testnet', ...caps })
 * const { data, payment } = await client.call('https://agent.example/summarize', { text })
 */
export class SvcClient extends PayingClient {
  /** @throws SvcError `invalid_key`, `invalid_price`, `invalid_options` */
  constructor(options: BrowserClientOptions = {}) {
    super(browserSettingsOf(options))
  }
}
