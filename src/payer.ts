/** What a payer needs wherever it runs; the two doors of `@svc/sdk/client` add who pays. */

export { memorySpendLedger } from './adapters/memory/spend.js'
export { type BazaarAnswer, type BazaarOptions, findInBazaar, listBazaar } from './app/bazaar/bazaar.js'
export type { Balance } from './app/client/balance.js'
export type { CallOptions, RequestOptions } from './app/client/http-request.js'
export type { CallOutcome, CallRequest, ManyOptions } from './app/client/many.js'
export type { SubscribeResult } from './app/client/paying-client.js'
export type { Estimate } from './app/client/quote.js'
export type { PaymentRecord, Receipts } from './app/client/receipts.js'
export type { CallPayment, CallResult, QuoteResult, Warning, WarningCode } from './app/client/results.js'
export type { RetryOptions } from './app/client/retry.js'
export type { ActiveSubscription } from './app/client/subscription-keys.js'
export {
  type ManifestSigner,
  type ManifestVerdict,
  verifyManifest,
} from './app/manifest-signature.js'
export type { AgentVerdict, AskedRegistry, Unverified } from './app/registry/agent-verdict.js'
export type { BazaarResource } from './domain/bazaar-index.js'
export { SvcError } from './domain/errors.js'
export type { Manifest, ManifestEndpoint, ManifestSignature, ManifestX402 } from './domain/manifest.js'
export {
  ALGORAND_MAINNET,
  ALGORAND_TESTNET,
  CAIP2,
  DEFAULT_FACILITATOR,
  type Network,
  USDC_ASSET_ID,
} from './domain/network.js'
export { priceOf } from './domain/price-of.js'
export type { RegisteredAgent, RegistryApps, RegistryIdentity, Score } from './domain/registry.js'
export type { PaymentRequired, PaymentRequirements, ResourceInfo } from './domain/x402.js'
export type { ByteSigner, GroupSigner, Signer } from './ports/payment-signer.js'
export type { Registry } from './ports/registry.js'
export type { OpenSpend, Spend, SpendEnd, SpendLedger, SpendPayment } from './ports/spend.js'
