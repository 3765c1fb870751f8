/**
 * What a payer needs, and nothing of a server.
 *
 * Under the condition `browser`, which bundlers set, a signer stands in for the key: {@link ClientOptions} is then without
 * `mnemonic` and `secretKey`, and nothing is read from an environment.
 *
 * @packageDocumentation
 */

export { type BazaarAnswer, type BazaarOptions, findInBazaar, listBazaar } from './app/bazaar/bazaar.js'
export { SvcClient } from './app/client/client.js'
export type { ClientOptions } from './app/client/options.js'
export { type AlgodRegistryOptions, algodRegistry } from './app/registry/algod-registry.js'
export {
  type AgentVerdict,
  type Unverified,
  type VerifyAgentOptions,
  verifyAgent,
} from './app/registry/verify-agent.js'
export type { BazaarResource } from './domain/bazaar-index.js'
export type { RegisteredAgent, RegistryApps, RegistryIdentity, Score } from './domain/registry.js'
export * from './payer.js'
export type { Registry } from './ports/registry.js'
