/** What a client is made with in Node, and what that means where something is left out. */
import { type Algod, algodClient } from '../../adapters/algorand/algod.js'
import { indexerClient } from '../../adapters/algorand/indexer.js'
import { signingKey } from '../../adapters/algorand/keys.js'
import { algorandPaymentSigner } from '../../adapters/algorand/payment-signer.js'
import { DEFAULT_ALGOD, DEFAULT_INDEXER, type Network } from '../../domain/network.js'
import type { PaymentSigner, Signer } from '../../ports/payment-signer.js'
import { sandboxUrl } from '../sandbox-url.js'
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

/** Who pays, on which network, and how much at most. Without a key or a signer only what is free can be asked for. */
export interface ClientOptions extends BaseOptions {
  /** The paying account's 25 words. Neither they nor the secret key are kept in any property, message or log. */
  readonly mnemonic?: string
  /** The paying account's secret key, 64 bytes; instead of a mnemonic. */
  readonly secretKey?: Uint8Array
  /** Who signs instead, where the key is elsewhere: a key service, a wallet. */
  readonly signer?: Signer
  /**
   * The only network that is paid on.
   *
   * @default 'mainnet'; with the environment variable `SVC_SANDBOX` set, 'testnet', which is what a sandbox is
   */
  readonly network?: Network
  /** The node that payments are built with. @default `SVC_SANDBOX`, else a public node of the network */
  readonly algodUrl?: string
}

/** @throws SvcError `invalid_key`, `invalid_price`, `invalid_options` */
export function settingsOf(options: ClientOptions): Settings {
  const sandbox = sandboxUrl()
  const network = checkedNetwork(options.network ?? (sandbox ? 'testnet' : 'mainnet'))
  const { algodUrl = sandbox, algodToken: token } = options
  const { indexerUrl = algodUrl === undefined ? DEFAULT_INDEXER[network] : undefined } = options
  const algod = algodClient({
    url: algodUrl ?? DEFAULT_ALGOD[network],
    ...(token !== undefined && { token }),
  })
  const indexer = indexerUrl === undefined ? undefined : indexerClient({ url: indexerUrl })
  const signer = signerOf(options, network, algod)
  const settings = settingsOver({ network, algod, indexer, signer }, options)
  if (isUncapped(settings, options)) warnOnce()
  return settings
}

let warned = false

/** Once a process: a program that makes a client for each call would fill its log. */
function warnOnce(): void {
  if (!warned) process.emitWarning(UNCAPPED, { code: 'SVC_UNCAPPED' })
  warned = true
}

function signerOf(
  { mnemonic, secretKey, signer }: ClientOptions,
  network: Network,
  algod: Algod,
): PaymentSigner | undefined {
  if ([mnemonic, secretKey, signer].filter(one => one !== undefined).length > 1)
    throw invalid('give one of mnemonic, secretKey and signer')
  if (signer) return externalSigner({ signer, network, algod })
  const secret = mnemonic ?? secretKey
  return secret === undefined ? undefined : algorandPaymentSigner({ key: signingKey(secret), network, algod })
}
