/** What a client is made with in a browser, where keys are in wallets and nothing is in an environment. */
import { ALGOD_TOKEN_HEADER, algodOver } from '../../adapters/algorand/algod-questions.js'
import { fetchNodeClient } from '../../adapters/algorand/fetch-node-client.js'
import { DEFAULT_ALGOD, type Network } from '../../domain/network.js'
import type { Signer } from '../../ports/payment-signer.js'
import { foreignSigner } from './foreign-signer.js'
import { type BaseOptions, checkedNetwork, invalid, type Settings, settingsOver } from './settings.js'

/** Who signs, on which network, and how much at most. */
export interface BrowserClientOptions extends BaseOptions {
  /** Who signs: a wallet, or a key that the page may not see. Without one, nothing can be paid. */
  readonly signer?: Signer
  /** The only network that is paid on. @default 'mainnet' */
  readonly network?: Network
  /** The node that payments are built with. @default a public node of the network */
  readonly algodUrl?: string
}

/** @throws SvcError `invalid_key`, `invalid_price`, `invalid_options` */
export function browserSettingsOf(options: BrowserClientOptions): Settings {
  if ('mnemonic' in options || 'secretKey' in options)
    throw invalid('in a browser keys stay in a wallet: give a signer')
  const network = checkedNetwork(options.network ?? 'mainnet')
  const { algodUrl: url = DEFAULT_ALGOD[network], algodToken: token, signer } = options
  const algod = algodOver(fetchNodeClient({ url, ...(token !== undefined && { token }) }, ALGOD_TOKEN_HEADER))
  return settingsOver(
    { network, algod, signer: signer && foreignSigner({ signer, network, algod }) },
    options,
  )
}
