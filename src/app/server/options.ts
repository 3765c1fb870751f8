/** The options of `serve` and `createServer`. */

import type { WebhookOptions } from '../../adapters/webhook/settlement-webhook.js'
import type { Network } from '../../domain/network.js'
import type { RegistryIdentity } from '../../domain/registry.js'
import type { ChargeStore } from '../../ports/charge-store.js'
import type { Clock } from '../../ports/clock.js'
import type { CreditStore, CreditTerms } from '../../ports/credit.js'
import type { Logger } from '../../ports/logger.js'
import type { RateLimit } from '../../ports/rate-limit.js'
import type { Runs } from '../../ports/runs.js'
import type { SubscriptionStore } from '../../ports/subscriptions.js'
import type { Timeouts } from '../charge/deps.js'
import type { ManifestSigner } from '../manifest-signature.js'
import type { ShutdownReport } from './drain.js'
import type { HealthCheck } from './health.js'

/** What {@link createServer} can be told. Nothing is required; what is wrong is refused at once. */
export interface ServerOptions {
  /**
   * The facilitator's URL; or several in order of preference: a verification moves on from one that does not answer, a
   * settlement never.
   *
   * @default `DEFAULT_FACILITATOR`, or the sandbox that the environment variable `SVC_SANDBOX` names
   */
  readonly facilitatorUrl?: string | readonly string[]
  /** Accept a facilitator on plain http at a public host. @default false */
  readonly allowHttp?: boolean
  /** Where this deployment is paid. @default the agent's `network` */
  readonly network?: Network
  /** The address that this deployment is paid at. @default the agent's `payTo` */
  readonly payTo?: string
  /** Mount prefix of every route. @default '' */
  readonly basePath?: string
  /** How many calls each caller has a minute. @default off */
  readonly rateLimit?: {
    /** Calls of all endpoints together, but for those with a limit of their own. */
    readonly perMinute: number
    /** Who counts as one caller: whoever pays, or an address. @default 'payer' */
    readonly per?: 'payer' | 'ip'
    /** What becomes of calls that cannot be counted. @default 'refuse' */
    readonly onStoreDown?: 'refuse' | 'admit'
  }
  /** Calls under one `Idempotency-Key` are one call. @default off: every call is one of its own */
  readonly idempotency?: IdempotencyOptions
  /**
   * How many runs of a handler a payer may have that are not settled: a payment can be verified and still fail to settle,
   * and a caller can hang up. A run takes one; when it is settled, it comes back with one more; when it fails by the
   * seller's fault, it comes back; after a hang-up or a payment that did not settle it does not. A call without credit
   * waits up to `timeouts.creditMs` and is then answered 429 `too_many_unpaid_calls`. `false` sets no bound.
   *
   * @default `{ start: 8, max: 64, idleMs: 600000 }`
   */
  readonly credit?: false | Partial<CreditTerms>
  /** Subscription windows. */
  readonly subscriptions?: {
    /** Where they are kept; as `stores.subscriptions`. @default this process's memory */
    readonly store?: SubscriptionStore
  }
  /** State that replicas share; whatever is not given lives in this process's memory. */
  readonly stores?: Stores
  /** How many runs `/_svc/runs` shows. @default 100 */
  readonly runsCapacity?: number
  /** A node, for rounds and for proof of what landed. @default a public node of the network */
  readonly algodUrl?: string
  /** The API token of the node at `algodUrl`. @default none */
  readonly algodToken?: string
  /** An indexer, for proof of what landed too long ago for a node. @default a public one, unless `algodUrl` is set */
  readonly indexerUrl?: string
  /** How many proxies in front may be believed about the caller's address. @default 0 */
  readonly trustProxy?: number
  /** The largest body that is read, in bytes. @default 1048576 */
  readonly maxBodyBytes?: number
  /**
   * How many bytes the bodies of all requests that are not paid yet may hold together. Above it the body that began to
   * arrive first is refused with 503 `overloaded`, or the new one where all others are complete.
   *
   * @default 16777216, or four times the largest body that is read
   */
  readonly maxUnpaidBodyBytes?: number
  /** Let web pages of any origin call. @default true */
  readonly cors?: boolean
  /** Seconds that a quote says a payment may take to settle. @default 300 */
  readonly maxTimeoutSeconds?: number
  /**
   * Refuse payments in which no signed transaction can be read. Without it they rest on the facilitator alone: there is no
   * id to hold them by, so one of them may run the handler more than once. @default true
   */
  readonly requireReadable?: boolean
  /** Whose word settles: `chain` looks every settlement up before its answer leaves. @default 'facilitator' */
  readonly confirm?: 'facilitator' | 'chain'
  /** How long the steps of a call may take. */
  readonly timeouts?: Partial<Timeouts>
  /**
   * Asked at `GET /health`, all at once, each for at most two seconds. One that answers `false`, throws or takes longer
   * makes health 503 and is named in it.
   *
   * @default none
   *
   * @example
   * healthChecks: { model: () => fetch(MODEL_URL).then(({ ok }) => ok) }
   */
  readonly healthChecks?: Readonly<Record<string, HealthCheck>>
  /**
   * Public names, such as `ops.example.com`, under which `/metrics` and `/_svc/runs` are answered. IP addresses, names
   * without a dot, and names of inner networks need not be listed; pages of other sites are refused under any name.
   *
   * @default none
   */
  readonly operationsHosts?: readonly string[]
  /** Where the URIs of the agent card's extensions begin. @default 'https://svc.example' */
  readonly extBase?: string
  /**
   * The agent's own id in the on-chain registry, and the applications of the registry that `search_agents` reads.
   *
   * @default none
   */
  readonly registry?: RegistryIdentity
  /** Signs the manifest once, for readers who know the address. @default unsigned */
  readonly signManifest?: ManifestSigner
  /**
   * Told of each settled payment, signed as Standard Webhooks, retried for some minutes; never an accounting record.
   *
   * @default none
   */
  readonly webhooks?: readonly WebhookOptions[]
  /**
   * Any pino-compatible logger: a line for each call that has ended, and whatever goes wrong. Never bodies, never payment
   * headers.
   *
   * @default silent, but for warnings at start, which go to the console
   */
  readonly logger?: Logger
  /**
   * Serves the page `/_svc/audit`, to this machine only; or, with a token of at least 16 characters, to whoever presents
   * it as the password. Behind a proxy on the same machine, set a token or do not pass `/_svc/` on.
   *
   * @default whether the environment variable `SVC_AUDIT` is `1`, as `svc dev` sets it
   */
  readonly audit?:
    | boolean
    | {
        /** The password, 16 or more visible ASCII characters. */
        readonly token: string | undefined
      }
  /**
   * Appends every ended call to this file, for `svc audit` and for accountants: payers are in it. At `maxBytes` the file
   * is set aside under a number. One process writes to one file, which `<path>.lock` says; a file that cannot be locked
   * (`journal_locked`) or written (`journal_unwritable`) is refused at start.
   *
   * @default off
   */
  readonly journal?:
    | string
    | {
        /** The file. */
        readonly path: string
        /** How large it may become, in bytes. @default 268435456 */
        readonly maxBytes?: number
      }
  /** Time, so that tests can own it. @default the system's */
  readonly clock?: Partial<Clock>
}

/** How long answers are kept for callers that ask again under the same key. */
export interface IdempotencyOptions {
  /** How long a completed answer is replayed, in milliseconds. @default 600000 */
  readonly windowMs?: number
  /** How many answers are kept, in this process's memory; the oldest makes way. @default 500 */
  readonly max?: number
  /**
   * When an answer was settled and could not be handed over: `release` frees the key, and a retry may be charged again;
   * `replay` keeps the answer, and a retry gets it. @default 'release'
   */
  readonly onLostResponse?: 'release' | 'replay'
  /**
   * The largest answer that is kept, in bytes. A larger one is delivered and charged; a retry with its key is 409
   * `answer_not_kept` with the transaction id.
   *
   * @default 1048576
   */
  readonly maxAnswerBytes?: number
}

/** What replicas share, as `redisStores` of `@svc/sdk/redis` makes it for Redis. */
export interface Stores {
  /** Idempotency keys and payments. */
  readonly charges?: ChargeStore
  /** Subscription windows. */
  readonly subscriptions?: SubscriptionStore
  /** The counts of the rate limit. */
  readonly rateLimit?: RateLimit
  /** How many runs each payer may have that are not settled. */
  readonly credit?: CreditStore
  /** The last calls. */
  readonly runs?: Runs
}

/** What {@link serve} can be told: all that {@link createServer} can, and how to listen and how to end. */
export interface ServeOptions extends ServerOptions {
  /** 0 takes any that is free. @default the environment variable `PORT`, else 4021 */
  readonly port?: number
  /** The address to listen on. @default every interface */
  readonly host?: string
  /** How long the headers of a request may take to arrive, in milliseconds. @default 10000 */
  readonly headersTimeout?: number
  /** How long a whole request may take to arrive, in milliseconds; not less than `headersTimeout`. @default 30000 */
  readonly requestTimeout?: number
  /** How many connections are kept open at once; more are closed unanswered. @default 4096 */
  readonly maxConnections?: number
  /** How long calls in flight may take once the server is told to stop, in milliseconds. @default 30000 */
  readonly shutdownTimeoutMs?: number
  /** Drain on SIGTERM and SIGINT. @default true */
  readonly handleSignals?: boolean
  /** Called when the server has ended. @default exits the process: 0 where it was drained, else 1 */
  readonly onShutdown?: (report: ShutdownReport) => void
  /** Called when the server listens. @default says so on stdout */
  readonly onReady?: (ready: Ready) => void
}

/** What a server that listens says of itself. */
export interface Ready {
  /** The port that it listens on. */
  readonly port: number
  /** Every path that answers, each as a method and a path; the free ones at the root and under `basePath`. */
  readonly routes: readonly string[]
  /** Where it is paid. */
  readonly network: Network
}
