/**
 * What Node does in its own way. `#platform` is this file, or by condition one of those beside it: `fetch-runtime.ts` for Bun,
 * Deno and Workers, `browser.ts` for browsers. All have the same names, and none loads another's packages. Other files
 * import `#platform`, never one of the three.
 */
import { setImmediate } from 'node:timers'
import { resumingFetch } from '../outbound/paused-replies.js'

export { guardedFetch } from '../outbound/guarded-fetch.js'
export { undiciExchange as exchangeTo } from '../outbound/undici-exchange.js'
export * from './node-modules.js'

/** The program's `fetch`. It is looked up at each call: a program may replace it later. */
export const globalFetch = resumingFetch((input, init) => globalThis.fetch(input, init))

/**
 * Writes the answers of one turn of the event loop together, at its end.
 *
 * Each write can wake the process that waits for it: a proxy, a balancer, a client on this machine. Under load one wake-up
 * for each answer took 40 % of an unpaid call. The first answer of a turn is written at once, so a lone call waits for
 * nothing. A test may replace the global `setImmediate`, by which each call after the first would wait for ever.
 */
export function turns(): () => Promise<void> | undefined {
  let end: Promise<void> | undefined
  return () => {
    if (end !== undefined) return end
    end = new Promise(resolve => {
      setImmediate(() => {
        end = undefined
        resolve()
      })
    })
    return undefined
  }
}
