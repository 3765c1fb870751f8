/** `@svc/sdk/client` under the condition `browser`: the same names, but that a signer stands in for a key. */

export { SvcClient } from './app/client/client.browser.js'
export type { BrowserClientOptions as ClientOptions } from './app/client/options.browser.js'
export { algodRegistry } from './app/registry/algod-registry.browser.js'
export type { AlgodRegistryOptions } from './app/registry/algod-registry.js'
export { type VerifyAgentOptions, verifyAgent } from './app/registry/verify-agent.browser.js'
export * from './payer.js'
