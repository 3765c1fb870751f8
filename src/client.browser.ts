/** `@svc/sdk/client` under the condition `browser`: as in Node, but that a signer stands in for a key. */

export { SvcClient } from './app/client/client.browser.js'
export type { BrowserClientOptions as ClientOptions } from './app/client/options.browser.js'
export * from './payer.js'
