/** What `serve` and `createServer` can be told, and what they assume where they are told nothing. */

import { sandboxUrl } from '#platform'
import type { WebhookOptions } from '../../adapters/webhook/settlement-webhook.js'
import { isAddress } from '../../domain/address.js'
import type { AgentDef } from '../../domain/agent.js'
import { SvcError, shown } from '../../domain/errors.js'
import {
  DEFAULT_ALGOD,
  DEFAULT_FACILITATOR,
  DEFAULT_INDEXER,
  isNetwork,
  type Network,
} from '../../domain/network.js'
import type { RegistryIdentity } from '../../domain/registry.js'
import type { ChargeStore } from '../../ports/charge-store.js'
import type { Clock } from '../../ports/clock.js'
import type { CreditStore, CreditTerms } from '../../ports/credit.js'
import type { Logger } from '../../ports/logger.js'
import type { RateLimit } from '../../ports/rate-limit.js'
import type { Runs } from '../../ports/runs.js'
import type { SubscriptionStore } from '../../ports/subscriptions.js'
import type { Budgets } from '../charge/world.js'
import type { ManifestSigner } from '../manifest-signature.js'
import type { AuditingOptions } from './audit.js'
import type { HealthCheck } from './checks.js'

/** What {@link createServer} can be told. Nothing is required; what is wrong is refused at once. */
export interface ServerOptions extends AuditingOptions {
  /**
   * The facilitator's URL; or several in order of preference: a verification moves on from one that does not answer, a
   * settlement never.
   *
   * @default {@link DEFAULT_FACILITATOR}, or the sandbox that the environment variable `SVC_SANDBOX` names
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
   * waits up to `budgets.creditMs` and is then answered 429 `too_many_unpaid_calls`. `false` sets no bound.
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
  readonly budgets?: Partial<Budgets>
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

export const DEFAULT_BODY_BYTES_MAX = 1_048_576

/** The agent as this deployment serves it: `network` and `payTo` may be overridden. */
export function deployed(
  agent: AgentDef,
  { network = agent.network, payTo = agent.payTo }: ServerOptions,
): AgentDef {
  if (!isNetwork(network)) throw invalid(`network is mainnet or testnet, not ${JSON.stringify(network)}`)
  if (!isAddress(payTo)) {
    throw new SvcError(
      `payTo is an Algorand address of 58 base32 characters, not '${payTo}'`,
      'invalid_address',
    )
  }
  return { ...agent, network, payTo }
}

/** Where the facilitator and the node are; `SVC_SANDBOX` stands in for both, so that an agent runs offline unchanged. */
export function remotes({ facilitatorUrl, algodUrl, indexerUrl }: ServerOptions, network: Network) {
  const sandbox = sandboxUrl()
  return {
    facilitatorUrls: [facilitatorUrl ?? sandbox ?? DEFAULT_FACILITATOR].flat() as readonly string[],
    algodUrl: algodUrl ?? sandbox ?? DEFAULT_ALGOD[network],
    indexerUrl: indexerUrl ?? ((algodUrl ?? sandbox) ? undefined : DEFAULT_INDEXER[network]),
  }
}

const BASE_PATH = /^(\/[A-Za-z0-9._~-]+)*$/

export function checkedBasePath(basePath = ''): string {
  const path = basePath.replace(/\/+$/, '')
  if (BASE_PATH.test(path)) return path
  throw invalid(`basePath is a path such as '/api', not ${JSON.stringify(basePath)}`)
}

export function positive(name: string, value: number): number {
  if (Number.isInteger(value) && value > 0) return value
  throw invalid(`${name} is a positive whole number, not ${shown(value)}`)
}

/** @throws SvcError `invalid_options` for anything but one of these words. */
export function oneOf<Word extends string>(name: string, value: Word, words: readonly Word[]): Word {
  if (words.includes(value)) return value
  throw invalid(`${name} is ${words.join(' or ')}, not ${shown(value)}`)
}

/** @throws SvcError `invalid_options` for what is no count of proxies. */
export function checkedHops(trustProxy = 0): number {
  if (Number.isInteger(trustProxy) && trustProxy >= 0) return trustProxy
  throw invalid(`trustProxy is how many proxies are in front, 0 or more, not ${shown(trustProxy)}`)
}

const HOST_NAME = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/

/** @throws SvcError `invalid_options` for what is no list of host names. */
export function checkedHosts(name: string, hosts: readonly string[] = []): ReadonlySet<string> {
  const names = [hosts].flat().map(host => (typeof host === 'string' ? host.toLowerCase() : host))
  const wrong = names.find(host => typeof host !== 'string' || !HOST_NAME.test(host))
  if (wrong === undefined) return new Set(names)
  throw invalid(`${name} lists host names without ports, such as 'ops.example.com', not ${shown(wrong)}`)
}

export function invalid(message: string): SvcError {
  return new SvcError(message, 'invalid_options')
}
