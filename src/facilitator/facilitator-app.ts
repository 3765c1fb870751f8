/** Plugs a facilitator, the list of resources, a rate limit and metrics into its REST. */
/** @ts-ignore: for who compiles without the optional peer @types/koa */
import type Koa from 'koa'
import { loggerOrSilent } from '../adapters/log/quiet-logger.js'
import { memoryCounters } from '../adapters/memory/counters.js'
import {
  hostNames,
  type Option,
  optional,
  positive,
  readOptions,
  secretToken,
  whole,
} from '../domain/option-checks.js'
import { systemClock } from '../ports/clock.js'
import type { Logger } from '../ports/logger.js'
import type { ProtocolFacilitator } from '../ports/protocol-facilitator.js'
import { createBazaarIndex } from './bazaar-index.js'
import { facilitatorMetrics } from './facilitator-metrics.js'
import { facilitatorRestApp } from './rest-app.js'

/** The options of {@link facilitatorApp}. */
export interface FacilitatorAppOptions {
  /**
   * How many verifications one address (of IPv6, one /64) may ask for in a minute. It may read the list of resources as often,
   * and ask for ten times as many settlements: a server whose settlement is refused has done its work. A server asks for one of
   * each for a sale.
   *
   * @default 600
   */
  readonly perMinute?: number
  /**
   * By which your servers are known: 16 or more visible ASCII characters, which `serve` sends where `facilitatorUrl` is
   * `{ url, token }`. Servers that send it are not limited by their address.
   *
   * @default none: every server counts as a stranger
   */
  readonly token?: string | undefined
  /** How many proxies in front are trusted to report the caller's address. @default 0 */
  readonly trustProxy?: number
  /** Public host names under which `/health` and `/metrics` answer. Addresses and inner names always do. @default none */
  readonly operationsHosts?: readonly string[]
  /** Any pino-compatible logger. @default silent */
  readonly logger?: Logger
}

const OPTIONS = {
  perMinute: positive(600),
  token: optional(secretToken),
  trustProxy: whole(0, 0),
  operationsHosts: hostNames,
  logger: loggerOrSilent,
} satisfies Record<keyof FacilitatorAppOptions, Option<unknown>>

/**
 * Makes the Koa app of a facilitator: x402's REST, for servers in other processes. Does not listen, and does not close the
 * facilitator.
 *
 * @example
 * const sponsor = { mnemonic: process.env.SVC_SPONSOR_MNEMONIC ?? '' }
 * const node = { network: 'testnet', algodUrl: 'http://127.0.0.1:8080' }
 * facilitatorApp(createFacilitator({ ...node, sponsor, payTo: 'anyone' })).listen(4022)
 *
 * @throws SvcError `invalid_options`
 */
export function facilitatorApp(facilitator: ProtocolFacilitator, options: FacilitatorAppOptions = {}): Koa {
  const { trustProxy, ...read } = readOptions(options, OPTIONS)
  return facilitatorRestApp({
    facilitator,
    bazaar: createBazaarIndex(systemClock.now),
    metrics: facilitatorMetrics(facilitator.condition),
    rateLimit: memoryCounters(),
    trustProxyHops: trustProxy,
    ...read,
  })
}
