/**
 * What a payer needs, and nothing of a server.
 *
 * Bundlers set the condition `browser`. Under it the names are the same, a signer stands in for the key
 * ({@link ClientOptions} is then without `mnemonic` and `secretKey`), and no environment is read.
 *
 * @packageDocumentation
 */
import { type ClientOptions, settingsOf } from './app/client/client-options.js'
import { PayingClient } from './app/client/paying-client.js'

export { memorySpendLedger } from './adapters/memory/spend-ledger.js'
export type { CallOptions, RequestOptions } from './app/client/build-request.js'
export type { TopUpOptions } from './app/client/buy-balance.js'
export type { CallOutcome, CallRequest, ManyOptions } from './app/client/call-many.js'
export type { Estimate } from './app/client/call-paid.js'
export type { Balance } from './app/client/check-before-signing.js'
export type { ClientOptions } from './app/client/client-options.js'
export type { FetchPayment, PaidResponse, PayingFetch } from './app/client/paying-fetch.js'
export type { StreamEvent, StreamOptions, StreamResult } from './app/client/read-streamed-answer.js'
export type { PaymentRecord, Receipts } from './app/client/receipt-book.js'
export type {
  ActiveSubscription,
  AgentBalance,
  BalanceReceipt,
  CallPayment,
  CallResult,
  QuoteResult,
  StreamCost,
  SubscribeResult,
  TopUpResult,
  Warning,
  WarningCode,
} from './app/client/result-types.js'
export type { RetryOptions } from './app/client/send-with-retries.js'
export { type ManifestSigner, type ManifestVerdict, verifyManifest } from './app/manifest-signature.js'
export {
  type BazaarAnswer,
  type BazaarOptions,
  findInBazaar,
  listBazaar,
  listWholeBazaar,
  type WholeBazaarAnswer,
  type WholeBazaarOptions,
} from './bazaar/list-bazaar.js'
export type { BazaarResource } from './bazaar/read-index-page.js'
export { SvcError } from './domain/errors.js'
export type {
  Manifest,
  ManifestBalance,
  ManifestEndpoint,
  ManifestSignature,
  ManifestX402,
} from './domain/manifest.js'
export {
  ALGORAND_MAINNET,
  ALGORAND_TESTNET,
  CAIP2,
  DEFAULT_FACILITATOR,
  type Network,
  type NetworkDefinition,
  type NetworkKey,
  type NetworkName,
  type PublicNetwork,
  USDC_ASSET_ID,
} from './domain/network.js'
export { priceOf } from './domain/price-for-display.js'
export type { RegisteredAgent, RegistryApps, RegistryIdentity, Score } from './domain/registered-agent.js'
export type { BalanceTerms } from './domain/window-and-balance-terms.js'
export type { PaymentRequired, PaymentRequirements, ResourceInfo } from './domain/x402.js'
export type { Registry } from './ports/agent-registry.js'
export type { ByteSigner, GroupSigner, Signer } from './ports/payment-signer.js'
export type {
  BalancesChange,
  OpenSpend,
  Spend,
  SpendEnd,
  SpendLedger,
  SpendPayment,
} from './ports/spend-ledger.js'
export { type AlgodRegistryOptions, algodRegistry } from './registry/read-registry.js'
export {
  type AgentVerdict,
  type AskedRegistry,
  type Unverified,
  type VerifyAgentOptions,
  verifyAgent,
} from './registry/verify-agent.js'

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
