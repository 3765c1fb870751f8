/** What a client is made with in a browser, where keys are in wallets and nothing is in an environment. */
import { ALGOD_TOKEN_HEADER, algodOver } from '../../adapters/algorand/algod-questions.js'
import { fetchNodeClient } from '../../adapters/algorand/fetch-node-client.js'
import { INDEXER_TOKEN_HEADER, indexerOver } from '../../adapters/algorand/indexer-questions.js'
import { DEFAULT_ALGOD, DEFAULT_INDEXER, type Network } from '../../domain/network.js'
import type { Signer } from '../../ports/payment-signer.js'
import { externalSigner } from './external-signer.js'
import {
  type BaseOptions,
  checkedNetwork,
  invalid,
  isUncapped,
  type Settings,
  settingsOver,
  UNCAPPED,
} from './settings.js'

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
  const { algodUrl, algodToken: token } = options
  const { indexerUrl = algodUrl === undefined ? DEFAULT_INDEXER[network] : undefined } = options
  const node = { url: algodUrl ?? DEFAULT_ALGOD[network], ...(token !== undefined && { token }) }
  const algod = algodOver(fetchNodeClient(node, ALGOD_TOKEN_HEADER))
  const indexer =
    indexerUrl === undefined
      ? undefined
      : indexerOver(fetchNodeClient({ url: indexerUrl }, INDEXER_TOKEN_HEADER))
  const signer = options.signer && externalSigner({ signer: options.signer, network, algod })
  const settings = settingsOver({ network, algod, indexer, signer }, options)
  if (isUncapped(settings, options)) warnOnce()
  return settings
}

let warned = false

function warnOnce(): void {
  if (!warned) console.warn(UNCAPPED)
  warned = true
}
