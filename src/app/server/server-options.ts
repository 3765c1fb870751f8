/** The options of `serve` and `createServer`. */

import type { WebhookOptions } from '../../adapters/webhook/settlement-webhook.js'
import type { RegistryIdentity } from '../../domain/agent-registry.js'
import type { Network, NetworkName } from '../../domain/network.js'
import type { ChargeStore } from '../../ports/charge-store.js'
import type { Clock } from '../../ports/clock.js'
import type { CreditStore, CreditTerms } from '../../ports/handler-credit.js'
import type { Logger } from '../../ports/logger.js'
import type { ProtocolFacilitator } from '../../ports/protocol-facilitator.js'
import type { RateLimit } from '../../ports/rate-limit.js'
import type { Runs } from '../../ports/recent-runs.js'
import type { SubscriptionStore } from '../../ports/subscriptions.js'
import type { TaskStore } from '../../ports/task-store.js'
import type { Timeouts } from '../charge/charge-deps.js'
import type { ManifestSigner } from '../manifest-signature.js'
import type { HealthCheck } from './health.js'
import type { IdempotencyOptions } from './idempotency-options.js'

/** The options of {@link createServer}. None is required. An invalid option is refused at once. */
export interface ServerOptions {
  /**
   * The facilitator's URL, or several in order of preference. If one answers neither a payment nor a question of our own, quotes
   * and verifications move on to the next; a settlement never does.
   *
   * @default the sandbox of the variable `SVC_SANDBOX`, else the definition's; on a public network `DEFAULT_FACILITATOR`
   */
  readonly facilitatorUrl?: string | FacilitatorElsewhere | readonly (string | FacilitatorElsewhere)[]
  /**
   * A facilitator of your own in this process, made by `createFacilitator`, instead of `facilitatorUrl`. The server does not close
   * it.
   *
   * @default none
   */
  readonly facilitator?: ProtocolFacilitator
  /** Accept a facilitator on plain http at a public host. @default false */
  readonly allowHttp?: boolean
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
  /** The rate limit of each caller. @default off */
  readonly rateLimit?: {
    /** Calls a minute to all endpoints together, except endpoints with their own limit. */
    readonly perMinute: number
    /** What identifies one caller: the payer, or the network address (of IPv6, its /64). @default 'payer' */
    readonly per?: 'payer' | 'ip'
    /** What happens to calls that cannot be counted. @default 'refuse' */
    readonly onStoreDown?: 'refuse' | 'admit'
  }
  /**
   * Calls under one `Idempotency-Key` are one call. The id of the x402 extension `payment-identifier` is the same key.
   *
   * @default off: every call is separate
   */
  readonly idempotency?: IdempotencyOptions
  /**
   * How long the answer of a call without a key is kept, at most `1h`; `false` for not at all. Its payer gets a lost answer again by the
   * same request and payment, and a proof (`SIGN-IN-WITH-X`). @default '2m'
   */
  readonly keepAnswers?: string | false
  /**
   * A secret of the seller, the same on all replicas: at least 32 random characters. Kept answers are sealed with it besides, so that a
   * reader of the store and the chain can read none; and an answer that sold a window is kept until the window ends. The first of
   * several seals, and all open: that is how a secret is changed. @default none
   */
  readonly sealSecret?: string | readonly string[]
  /** The agent's own address, where callers' proofs are to be compared with it instead of the address that they ask. @default none */
  readonly publicUrl?: string
  /**
   * How many unsettled runs of a handler a payer may have: a payment can be verified and still fail to settle. A run takes one
   * credit. A call that settles gives it back and one more; one that fails by the seller's fault gives it back; a hang-up, or a
   * payment that did not settle, does not. A call without credit waits up to `timeouts.creditMs`, then ends with 429
   * `too_many_unpaid_calls`. `false` sets no limit.
   *
   * @default `{ start: 8, max: 64, idleMs: 600000 }`
   */
  readonly credit?: false | Partial<CreditTerms>
  /** Tasks of A2A clients that pay in messages. Such a task waits for its payment as long as its quote lives. */
  readonly tasks?: {
    /** The most tasks that wait or are worked on. One address has at most a quarter of them. @default 1000 */
    readonly max?: number
    /** The most bytes of a task's input, as JSON. @default 65536 */
    readonly maxInputBytes?: number
  }
  /** Subscription windows. */
  readonly subscriptions?: {
    /** The store of the windows; the same as `stores.subscriptions`. @default this process's memory */
    readonly store?: SubscriptionStore
  }
  /** State that replicas share. Without a store, that state is in this process's memory. */
  readonly stores?: Stores
  /** How many runs `/_svc/runs` shows. @default 100 */
  readonly runsCapacity?: number
  /**
   * The most connections of this process to each facilitator. A payment that settles holds one until the chain has it, for about 4 s:
   * 512 are enough for some 120 payments a second. More payments wait.
   *
   * @default 512
   */
  readonly maxFacilitatorConnections?: number
  /** An Algorand node, for rounds and proof that payments landed. @default `SVC_SANDBOX`, else the network's own, or a public one */
  readonly algodUrl?: string
  /** The API token of the node. @default that of the network's definition for its own node; else none */
  readonly algodToken?: string
  /**
   * An indexer, for proof of payments that landed too long ago for a node.
   *
   * @default that of the network's definition, unless `SVC_SANDBOX` replaces the node; else a public one, where neither
   * `SVC_SANDBOX` nor `algodUrl` does
   */
  readonly indexerUrl?: string
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
  /**
   * Refuse payments in which no signed transaction can be read. If such payments are accepted, only the facilitator
   * checks them: they have no id, so one payment may run the handler more than once.
   *
   * @default true
   */
  readonly requireReadable?: boolean
  /** What confirms a settlement. `chain` looks every settlement up before the answer is sent. @default 'facilitator' */
  readonly confirm?: 'facilitator' | 'chain'
  /** How long the steps of a call may take. */
  readonly timeouts?: Partial<Timeouts>
  /**
   * Checks that run at `GET /health`, all at once, each for at most two seconds. A check that returns `false`, throws
   * or takes longer makes health 503, and the answer names it.
   *
   * @default none
   *
   * @example
   * healthChecks: { model: () => fetch(MODEL_URL).then(({ ok }) => ok) }
   */
  readonly healthChecks?: Readonly<Record<string, HealthCheck>>
  /**
   * Public host names, such as `ops.example.com`, under which `/metrics` and `/_svc/runs` answer. IP addresses, names
   * without a dot, and names of inner networks need not be listed. Pages of other sites are refused under any name.
   *
   * @default none
   */
  readonly operationsHosts?: readonly string[]
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
  /**
   * Webhooks that receive each settled payment, signed as Standard Webhooks and retried for some minutes. Never an
   * accounting record.
   *
   * @default none
   */
  readonly webhooks?: readonly WebhookOptions[]
  /**
   * Any pino-compatible logger. It receives a line for each ended call, and all warnings and errors. It never
   * receives bodies or payment headers.
   *
   * @default silent, except for warnings at start, which go to the console
   */
  readonly logger?: Logger
  /**
   * Serves the page `/_svc/audit` to this machine only. With a token of at least 16 characters, serves it to every
   * client that presents the token as the password. Behind a proxy on the same machine, set a token or do not forward
   * `/_svc/`.
   *
   * @default whether the environment variable `SVC_AUDIT` is `1`, as `svc dev` sets it
   */
  readonly audit?:
    | boolean
    | {
        /** The password, 16 or more visible ASCII characters. */
        readonly token: string | undefined
        /**
         * Whether the page shows what handlers threw and logged: it may hold secrets, and nothing else gets it.
         * @default in development alone: under `svc dev`, and where `NODE_ENV` is `development`
         */
        readonly messages?: boolean
      }
  /**
   * Appends to this file a line for each call that charged or may have charged, and once a minute the number of the other calls: for
   * `svc audit` and for accountants. The file names payers. It is renamed with a number when it is large; when all files together
   * reach `maxBytes`, **the oldest is deleted**, with a warning in the log where `svc audit` never read it. One process writes to
   * one file, and `<path>.lock` marks it. A file that cannot be locked (`journal_locked`) or written (`journal_unwritable`) is
   * refused at start.
   *
   * @default off
   */
  readonly journal?:
    | string
    | {
        /** The file's path. */
        readonly path: string
        /** The largest size of all files together, in bytes: about 380,000 charges by default. @default 268435456 */
        readonly maxBytes?: number
      }
  /** The clock, so that tests can control time. @default the system's */
  readonly clock?: Partial<Clock>
}

/** A facilitator that knows this server. */
export interface FacilitatorElsewhere {
  /** Its URL. */
  readonly url: string
  /**
   * By which it knows this server, as `svc facilitator` does by `SVC_FACILITATOR_TOKEN`: 16 or more visible ASCII characters.
   * It is sent there alone, never to a public host over plain http, and never across a redirect.
   *
   * @default none: the server counts as a stranger there
   */
  readonly token?: string | undefined
}

/** The stores that replicas share. `redisStores` of `@svc/sdk/redis` makes them for Redis. */
export interface Stores {
  /** Idempotency keys and payments. */
  readonly charges?: ChargeStore
  /** Subscription windows. */
  readonly subscriptions?: SubscriptionStore
  /** The counts of the rate limit. */
  readonly rateLimit?: RateLimit
  /** How many unsettled runs each payer may have. */
  readonly credit?: CreditStore
  /** Tasks of A2A that wait for their payment. */
  readonly tasks?: TaskStore
  /** The last calls. */
  readonly runs?: Runs
}
