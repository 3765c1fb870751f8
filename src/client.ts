/**
 * What a payer needs, and nothing of a server.
 *
 * Bundlers set the condition `browser`. Under it the names are the same, a signer stands in for the key
 * ({@link ClientOptions} is then without `mnemonic` and `secretKey`), and no environment is read.
 *
 * @packageDocumentation
 */

export { memorySpendLedger } from './adapters/memory/spend-ledger.js'
export { type BazaarAnswer, type BazaarOptions, findInBazaar, listBazaar } from './app/bazaar/bazaar.js'
export type { Balance } from './app/client/balance.js'
export { SvcClient } from './app/client/client.js'
export type { CallOptions, RequestOptions } from './app/client/http-request.js'
export type { CallOutcome, CallRequest, ManyOptions } from './app/client/many.js'
export type { ClientOptions } from './app/client/options.js'
export type { Estimate } from './app/client/quote.js'
export type { PaymentRecord, Receipts } from './app/client/receipts.js'
export type {
  CallPayment,
  CallResult,
  QuoteResult,
  SubscribeResult,
  Warning,
  WarningCode,
} from './app/client/results.js'
export type { RetryOptions } from './app/client/retry.js'
export type { ActiveSubscription } from './app/client/subscription-keys.js'
export { type ManifestSigner, type ManifestVerdict, verifyManifest } from './app/manifest-signature.js'
export { type AlgodRegistryOptions, algodRegistry } from './app/registry/algod-registry.js'
export {
  type AgentVerdict,
  type AskedRegistry,
  type Unverified,
  type VerifyAgentOptions,
  verifyAgent,
} from './app/registry/verify-agent.js'
export type { BazaarResource } from './domain/bazaar-index.js'
export { SvcError } from './domain/errors.js'
export type { Manifest, ManifestEndpoint, ManifestSignature, ManifestX402 } from './domain/manifest.js'
export {
  ALGORAND_MAINNET,
  ALGORAND_TESTNET,
  CAIP2,
  DEFAULT_FACILITATOR,
  type Network,
  type NetworkName,
  USDC_ASSET_ID,
} from './domain/network.js'
export { priceOf } from './domain/price-of.js'
export type { RegisteredAgent, RegistryApps, RegistryIdentity, Score } from './domain/registry.js'
export type { PaymentRequired, PaymentRequirements, ResourceInfo } from './domain/x402.js'
export type { ByteSigner, GroupSigner, Signer } from './ports/payment-signer.js'
export type { Registry } from './ports/registry.js'
export type { OpenSpend, Spend, SpendEnd, SpendLedger, SpendPayment } from './ports/spend-ledger.js'
