/** The options of `serve`, `createServer` and `createHandler`: their parts, and the table by which all are read. */
import { isValidAddress } from '../../adapters/algorand/signing-keys.js'
import { DEFAULT_EXT_BASE } from '../../domain/agent-card.js'
import type { RegistryIdentity } from '../../domain/agent-registry.js'
import { shown } from '../../domain/errors.js'
import type { Network, NetworkName } from '../../domain/network.js'
import {
  asGiven,
  flag,
  group,
  invalid,
  type Option,
  oneOf,
  optional,
  positive,
  whole,
} from '../../domain/options.js'
import type { Runs } from '../../ports/call-observer.js'
import type { ChargeStore } from '../../ports/charge-store.js'
import type { Clock } from '../../ports/clock.js'
import type { Counters } from '../../ports/counters.js'
import type { SubscriptionStore } from '../../ports/subscriptions.js'
import type { TaskStore } from '../../ports/tasks.js'
import type { ManifestSigner } from '../manifest-signature.js'
import { CHARGE_OPTIONS, type ChargeOptions } from './charge-options.js'
import { OBSERVER_OPTIONS, type ObserverOptions } from './observer-options.js'
import { REMOTE_OPTIONS, type RemoteOptions } from './remotes-from-options.js'

/** The options of {@link createServer}. None is required. An invalid or misspelt option is refused at once. */
export interface ServerOptions extends RemoteOptions, ChargeOptions, ObserverOptions {
  /** The network on which this deployment is paid. @default the agent's `network` */
  readonly network?: Network | NetworkName | undefined
  /**
   * Which spellings of the network's id a quote offers: `both`, the 32 characters of CAIP-2 first and the whole genesis hash
   * of 44 characters as a second entry of `accepts`, or `short`, CAIP-2's alone. Python's `x402-avm` pays only the second.
   * Payments in either are accepted, whatever is offered, and each receipt has the spelling that was paid.
   *
   * @default 'both'
   */
  readonly networkIds?: 'short' | 'both'
  /** The address that receives this deployment's payments. @default the agent's `payTo` */
  readonly payTo?: string | undefined
  /** Mount prefix of every route. @default '' */
  readonly basePath?: string
  /** Subscription windows. */
  readonly subscriptions?: {
    /** The store of the windows; the same as `stores.subscriptions`. @default this process's memory */
    readonly store?: SubscriptionStore
  }
  /** State that replicas share. Without a store, that state is in this process's memory. */
  readonly stores?: Stores
  /** How many proxies in front of the server are trusted to report the caller's address. @default 0 */
  readonly trustProxy?: number
  /** The largest body that is read, in bytes. @default 1048576 */
  readonly maxBodyBytes?: number
  /**
   * How many bytes the bodies of all unpaid requests may hold together. Above it, the body that began to arrive first
   * is refused with 503 `overloaded`, or the new body if all others are complete.
   *
   * @default 16777216, or four times the largest body that is read
   */
  readonly maxUnpaidBodyBytes?: number
  /** Allow web pages of any origin to call. @default true */
  readonly cors?: boolean
  /** How many seconds a payment may take to settle, as quotes say. @default 300 */
  readonly maxTimeoutSeconds?: number
  /** The base of the URIs of the agent card's extensions. @default 'https://svc.example' */
  readonly extBase?: string
  /**
   * The agent's own id in the on-chain registry, and the registry applications that `search_agents` reads.
   *
   * @default none
   */
  readonly registry?: RegistryIdentity
  /** Signs the manifest once, for readers who know the address. @default unsigned */
  readonly signManifest?: ManifestSigner
  /** The clock, so that tests can control time. @default the system's */
  readonly clock?: Partial<Clock>
}

/** The stores that replicas share. `redisStores` of `@svc/sdk/redis` makes them for Redis. */
export interface Stores {
  /** Idempotency keys and payments. */
  readonly charges?: ChargeStore
  /** Subscription windows. */
  readonly subscriptions?: SubscriptionStore
  /** The counts of the rate limit. */
  readonly rateLimit?: Counters
  /** How many unsettled runs each payer may have. */
  readonly credit?: Counters
  /** Tasks of A2A that wait for their payment. */
  readonly tasks?: TaskStore
  /** The last calls. */
  readonly runs?: Runs
}

const BASE_PATH = /^(\/[A-Za-z0-9._~-]+)*$/

const basePath: Option<string> = (given = '') => {
  const path = String(given).replace(/\/+$/, '')
  if (BASE_PATH.test(path)) return path
  throw invalid(`basePath is a path such as '/api', not ${JSON.stringify(given)}`)
}

const extBase: Option<string> = (given = DEFAULT_EXT_BASE) => {
  // Headers carry this value, and they allow no other characters. A check after a charge would be too late.
  if (typeof given === 'string' && URL.canParse(given) && /^[\x21-\x7e]+$/.test(given)) return given
  throw invalid(`extBase is an absolute URL in ASCII, not ${shown(given)}`)
}

const REGISTRY = {
  agentId: optional(positive()),
  identityApp: optional(positive()),
  reputationApp: optional(positive()),
  validationApp: optional(positive()),
} satisfies Record<keyof RegistryIdentity, Option<unknown>>

const signManifest: Option<ManifestSigner | undefined> = given => {
  if (given === undefined) return undefined
  const { origin, address, sign } = given as ManifestSigner
  if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
    throw invalid(`signManifest.origin is an origin such as 'https://agent.example', not ${shown(origin)}`)
  }
  if (!isValidAddress(address)) throw invalid('signManifest.address is not an Algorand address')
  if (typeof sign !== 'function') throw invalid('signManifest.sign is not a function')
  return given as ManifestSigner
}

export const DEFAULT_BODY_BYTES_MAX = 1_048_576

const OWN_OPTIONS = {
  network: asGiven<ServerOptions['network']>(),
  networkIds: oneOf(['short', 'both'], 'both'),
  payTo: asGiven<string | undefined>(),
  basePath,
  subscriptions: group({ store: asGiven<SubscriptionStore | undefined>() }),
  // What `redisStores` makes has more than the stores, and a store may be a getter.
  stores: asGiven<Stores | undefined>(),
  trustProxy: whole(0, 0),
  maxBodyBytes: positive(DEFAULT_BODY_BYTES_MAX),
  maxUnpaidBodyBytes: optional(positive()),
  cors: flag(true),
  maxTimeoutSeconds: positive(300),
  extBase,
  registry: group(REGISTRY),
  signManifest,
  clock: asGiven<Partial<Clock> | undefined>(),
} satisfies Record<
  Exclude<keyof ServerOptions, keyof RemoteOptions | keyof ChargeOptions | keyof ObserverOptions>,
  Option<unknown>
>

export const SERVER_OPTIONS = {
  ...REMOTE_OPTIONS,
  ...CHARGE_OPTIONS,
  ...OBSERVER_OPTIONS,
  ...OWN_OPTIONS,
}
