/**
 * What Node does in its own way. `#platform` is this file, or by condition one of those beside it: `fetch-runtime.ts` for Bun,
 * Deno and Workers, `browser.ts` for browsers. All have the same names, and none loads another's packages. Other files
 * import `#platform`, never one of the three.
 */
import { resumingFetch } from '../outbound/paused-replies.js'

export { turns } from '../http/write-node-response.js'
export { guardedFetch } from '../outbound/guarded-fetch.js'
export { undiciExchange as exchangeTo } from '../outbound/undici-exchange.js'
export * from './node-modules.js'

/** The program's `fetch`. It is looked up at each call: a program may replace it later. */
export const globalFetch = resumingFetch((input, init) => globalThis.fetch(input, init))
