/** The options of `serve`, `createServer` and `createHandler`, and the table by which all are read, checked and counted. */
import type { Network, NetworkName } from '../../../domain/network.js'
import {
  asGiven,
  between,
  callable,
  flag,
  group,
  invalid,
  type Option,
  optional,
  positive,
  type ReadOptions,
  refuseUnknown,
  text,
  whole,
} from '../../../domain/option-checks.js'
import type { RegistryIdentity } from '../../../domain/registered-agent.js'
import type { Runs } from '../../../ports/call-observer.js'
import type { ChargeStore } from '../../../ports/charge-store.js'
import type { Counters } from '../../../ports/counters.js'
import type { SubscriptionStore } from '../../../ports/subscriptions.js'
import type { TaskStore } from '../../../ports/tasks.js'
import type { ShutdownReport } from '../drain.js'
import { ADVANCED_OPTIONS, type AdvancedOptions } from './advanced-options.js'
import { CHARGE_OPTIONS, type ChargeOptions } from './charge-options.js'
import { OBSERVER_OPTIONS, type ObserverOptions } from './observer-options.js'
import { REMOTE_OPTIONS, type RemoteOptions } from './remote-options.js'

/** The options of {@link createServer}. None is required. An invalid or misspelt option is refused at once. */
export interface ServerOptions extends RemoteOptions, ChargeOptions, ObserverOptions {
  /** The network on which this deployment is paid. @default the agent's `network` */
  readonly network?: Network | NetworkName | undefined
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
  /** The agent's own id in the on-chain registry, and the registry applications that `search_agents` reads. @default none */
  readonly registry?: RegistryIdentity
  /** Which routes beside the paid ones and discovery there are. What is `false` is not there, and no document names it. */
  readonly doors?: {
    /** Calls over A2A: `/a2a`, and the agent cards, which lead there. @default true */
    readonly a2a?: boolean
    /** Calls over MCP: `/mcp`. @default true */
    readonly mcp?: boolean
    /** `/metrics`. @default true */
    readonly metrics?: boolean
    /** `/_svc/runs`. @default true */
    readonly runs?: boolean
    /**
     * `/`, `/health`, `/ready` and `/metrics` at these paths. `false` leaves the paths to the app that mounts this one, and puts ours
     * under `/_svc`: `/_svc/health`.
     *
     * @default true
     */
    readonly root?: boolean
  }
  /** What nearly no seller needs. */
  readonly advanced?: AdvancedOptions
}

/** The options of {@link createHandler}: those of {@link createServer}, how to stop, and what only the host can say. */
export interface HandlerOptions extends ServerOptions {
  /** How long running calls may take after the handler begins to stop, in milliseconds. @default 30000 */
  readonly shutdownTimeoutMs?: number
  /**
   * The address of a request's caller, for `fetch`, whose requests do not say it. It counts for limits by address.
   *
   * @default what trusted proxies say (`trustProxy`); otherwise all callers share one limit
   *
   * @example
   * clientAddress: request => request.headers.get('cf-connecting-ip') ?? undefined
   */
  readonly clientAddress?: (request: Request) => string | undefined
}

/** The options of {@link serve}: those of {@link createServer}, and how to listen and how to stop. */
export interface ServeOptions extends ServerOptions, Pick<HandlerOptions, 'shutdownTimeoutMs'> {
  /** The port; 0 takes any free port. @default the environment variable `PORT`, else 4021 */
  readonly port?: number
  /** The address to listen on. @default every interface */
  readonly host?: string
  /** Drain on SIGTERM and SIGINT. @default true */
  readonly handleSignals?: boolean
  /** Called when the server has stopped. @default exits the process: 0 if it drained, else 1 */
  readonly onShutdown?: (report: ShutdownReport) => void
  /** Called when the server listens. @default prints it on stdout */
  readonly onReady?: (ready: Ready) => void
}

/** The facts about a listening server. */
export interface Ready {
  /** The port that it listens on. */
  readonly port: number
  /** Every route, as a method and a path; free routes at the root and under `basePath`. */
  readonly routes: readonly string[]
  /** The name of the network on which it is paid. */
  readonly network: string
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

const STORES = ['charges', 'subscriptions', 'rateLimit', 'credit', 'tasks', 'runs'] satisfies (keyof Stores)[]

/** What `redisStores` makes has more than the stores. A store may be a getter: none is read here. */
const stores: Option<Stores | undefined> = (given, name) => {
  if (given !== undefined)
    refuseUnknown(given as object, [...STORES, 'spend', 'ping', 'health', 'close'], name)
  return given as Stores | undefined
}

const REGISTRY = {
  agentId: optional(positive()),
  identityApp: optional(positive()),
  reputationApp: optional(positive()),
  validationApp: optional(positive()),
} satisfies Record<keyof RegistryIdentity, Option<unknown>>

const on = flag(true)
const DOORS = { a2a: on, mcp: on, metrics: on, runs: on, root: on }

export const DEFAULT_BODY_BYTES_MAX = 1_048_576

export const DEFAULT_PORT = 4021
export const SHUTDOWN_TIMEOUT_DEFAULT_MS = 30_000
const HEADERS_TIMEOUT_MS = 10_000

const PORT = between(0, 65_535)

/** One table for all hosts: the same options may be given to another host, which passes over what it has no use for. */
export const OPTIONS = {
  ...REMOTE_OPTIONS,
  ...CHARGE_OPTIONS,
  ...OBSERVER_OPTIONS,
  network: asGiven<ServerOptions['network']>(),
  payTo: asGiven<string | undefined>(),
  basePath,
  subscriptions: group({ store: asGiven<SubscriptionStore | undefined>() }),
  stores,
  trustProxy: whole(0, 0),
  maxBodyBytes: positive(DEFAULT_BODY_BYTES_MAX),
  registry: group(REGISTRY),
  doors: group(DOORS),
  shutdownTimeoutMs: positive(SHUTDOWN_TIMEOUT_DEFAULT_MS),
  clientAddress: callable<HandlerOptions['clientAddress']>(),
  port: optional(PORT),
  host: optional(text()),
  handleSignals: flag(true),
  onShutdown: callable<ServeOptions['onShutdown']>(),
  onReady: callable<ServeOptions['onReady']>(),
  advanced: group(ADVANCED_OPTIONS),
} satisfies Record<keyof HandlerOptions | keyof ServeOptions, Option<unknown>>

/** @throws SvcError `invalid_options` */
export function listeningOf({ port, requestTimeout, maxConnections }: Listening) {
  const headersTimeout = Math.min(HEADERS_TIMEOUT_MS, requestTimeout)
  // The environment's is for `serve` alone: a handler in another host's server has nothing to do with it.
  const asked = port ?? PORT(process.env.PORT ? Number(process.env.PORT) : DEFAULT_PORT, 'port')
  return { port: asked, headersTimeout, requestTimeout, maxConnections }
}

type Listening = Pick<ReadOptions<typeof OPTIONS>, 'port'> &
  Pick<ReadOptions<typeof ADVANCED_OPTIONS>, 'requestTimeout' | 'maxConnections'>
