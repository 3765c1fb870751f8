/**
 * What a payer needs, and nothing of a server.
 *
 * Under the condition `browser`, which bundlers set, a signer stands in for the key: {@link ClientOptions} is then without
 * `mnemonic` and `secretKey`, and nothing is read from an environment. The names are the same.
 *
 * @packageDocumentation
 */

export { SvcClient } from './app/client/client.js'
export type { ClientOptions } from './app/client/options.js'
export { type AlgodRegistryOptions, algodRegistry } from './app/registry/algod-registry.js'
export { type VerifyAgentOptions, verifyAgent } from './app/registry/verify-agent.js'
export * from './payer.js'
