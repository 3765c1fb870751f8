/**
 * What Bun, Deno and Workers do in their own way: they have Node's modules, and reach the network by their own `fetch`.
 * Bun replaces undici by a stub; on Workers a connection may not outlive the request that opened it.
 */
import { systemClock } from '../../ports/clock.js'
import { fetchExchange } from '../outbound/fetch-exchange.js'

export * from './node-modules.js'

export const exchangeTo = fetchExchange(systemClock)

/** On Workers no request may wait for what another one does. */
export const turns = () => (): undefined => undefined

/**
 * Refuses: these runtimes do not let a program see the address that `fetch` connects to, so a stranger's URL could reach
 * the private network. A program whose network has no private addresses gives a `fetchImpl`.
 */
export const guardedFetch: typeof fetch = async () => {
  throw new Error('on this runtime no fetch can refuse private addresses: give fetchImpl')
}

export const globalFetch: typeof fetch = (input, init) => globalThis.fetch(input, init)
