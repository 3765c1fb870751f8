/** What `serve` and `createServer` can be told, and what they assume where they are told nothing. */

import type { WebhookOptions } from '../adapters/webhook/settlement-webhook.js'
import { isAddress } from '../domain/address.js'
import type { AgentDef } from '../domain/agent.js'
import { SvcError, shown } from '../domain/errors.js'
import {
  DEFAULT_ALGOD,
  DEFAULT_FACILITATOR,
  DEFAULT_INDEXER,
  isNetwork,
  type Network,
} from '../domain/network.js'
import type { RegistryIdentity } from '../domain/registry.js'
import type { ChargeStore } from '../ports/charge-store.js'
import type { Clock } from '../ports/clock.js'
import type { Logger } from '../ports/logger.js'
import type { RateLimit } from '../ports/rate-limit.js'
import type { Runs } from '../ports/runs.js'
import type { SubscriptionStore } from '../ports/subscriptions.js'
import type { AuditingOptions } from './audit/auditing.js'
import type { Budgets } from './charge/world.js'
import type { HealthCheck } from './checks.js'
import type { ShutdownReport } from './drain.js'
import type { ManifestSigner } from './manifest-signature.js'

export interface ServerOptions extends AuditingOptions {
  /**
   * One, or several in order of preference: a verification moves on from one that does not answer, a settlement never.
   *
   * @default DEFAULT_FACILITATOR, or the sandbox that the environment variable `SVC_SANDBOX` names
   */
  readonly facilitatorUrl?: string | readonly string[]
  /** Accept a facilitator on plain http at a public host. */
  readonly allowHttp?: boolean
  /** @default the agent's network */
  readonly network?: Network
  /** @default the agent's payTo */
  readonly payTo?: string
  /** Mount prefix of every route. @default '' */
  readonly basePath?: string
  /** Off unless set. `payer` counts by who pays, `ip` by address. @default per: 'payer', onStoreDown: 'refuse' */
  readonly rateLimit?: {
    readonly perMinute: number
    readonly per?: 'payer' | 'ip'
    readonly onStoreDown?: 'refuse' | 'admit'
  }
  /** Off unless set. */
  readonly idempotency?: IdempotencyOptions
  /** Where windows are kept. @default this process's memory */
  readonly subscriptions?: { readonly store?: SubscriptionStore }
  /** State that replicas share; whatever is not given lives in this process's memory. */
  readonly stores?: Stores
  /** How many runs `/_svc/runs` shows. @default 100 */
  readonly runsCapacity?: number
  /** A node, for rounds and for proof of what landed. @default a public node of the network */
  readonly algodUrl?: string
  readonly algodToken?: string
  readonly indexerUrl?: string
  /** How many proxies in front may be believed about the caller's address. @default 0 */
  readonly trustProxy?: number
  /** @default 1048576 */
  readonly maxBodyBytes?: number
  /** Let web pages of any origin call. @default true */
  readonly cors?: boolean
  /** Seconds that a quote says a payment may take to settle. @default 300 */
  readonly maxTimeoutSeconds?: number
  /**
   * Refuse payments in which no signed transaction can be read. Without it they rest on the facilitator alone: there is no
   * id to hold them by, so one of them may run the handler more than once. @default true
   */
  readonly requireReadable?: boolean
  /** `chain` looks every settlement up before its answer leaves. @default 'facilitator' */
  readonly confirm?: 'facilitator' | 'chain'
  readonly budgets?: Partial<Budgets>
  /**
   * Asked at `GET /health`, all at once, each for at most two seconds. One that answers `false`, throws or takes longer
   * makes health 503 and is named in it.
   *
   * @example
   * healthChecks: { model: () => fetch(MODEL_URL).then(({ ok }) => ok) }
   */
  readonly healthChecks?: Readonly<Record<string, HealthCheck>>
  /** Where the URIs of the agent card's extensions begin. @default 'https://svc.example' */
  readonly extBase?: string
  /** The agent's own id in the on-chain registry, and the applications of the registry that `search_agents` reads. */
  readonly registry?: RegistryIdentity
  /** Signs the manifest once, for readers who know the address. @default unsigned */
  readonly signManifest?: ManifestSigner
  /** Told of each settled payment, signed as Standard Webhooks, retried for some minutes; never an accounting record. */
  readonly webhooks?: readonly WebhookOptions[]
  /**
   * Any pino-compatible logger: a line for each call that has ended, and whatever goes wrong. Never bodies, never payment
   * headers.
   *
   * @default silent, but for warnings at start, which go to the console
   */
  readonly logger?: Logger
  readonly clock?: Clock
}

export interface IdempotencyOptions {
  /** How long a completed answer is replayed. @default 600000 */
  readonly windowMs?: number
  /** How many keys are remembered. @default 500 */
  readonly max?: number
  /**
   * When an answer was settled and could not be handed over: `release` frees the key, and a retry may be charged again;
   * `replay` keeps the answer, and a retry gets it. @default 'release'
   */
  readonly onLostResponse?: 'release' | 'replay'
  /** The largest answer that is kept. @default 1048576 */
  readonly maxAnswerBytes?: number
}

export interface Stores {
  readonly charges?: ChargeStore
  readonly subscriptions?: SubscriptionStore
  readonly rateLimit?: RateLimit
  readonly runs?: Runs
}

export interface ServeOptions extends ServerOptions {
  /** @default the environment variable `PORT`, else 4021 */
  readonly port?: number
  /** @default every interface */
  readonly host?: string
  /** How long calls in flight may take once the server is told to stop. @default 30000 */
  readonly shutdownTimeoutMs?: number
  /** Drain on SIGTERM and SIGINT. @default true */
  readonly handleSignals?: boolean
  /** @default exits the process */
  readonly onShutdown?: (report: ShutdownReport) => void
  /** @default says so on stdout */
  readonly onReady?: (ready: Ready) => void
}

export interface Ready {
  readonly port: number
  readonly routes: readonly string[]
  readonly network: Network
}

export const DEFAULT_PORT = 4021
export const DEFAULT_SHUTDOWN_TIMEOUT_MS = 30_000
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
  const sandbox = process.env.SVC_SANDBOX || undefined
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

/** @throws SvcError `invalid_options` where `port` is no port; 0 takes any that is free. */
export function checkedPort(port: number | undefined): number {
  const chosen = port ?? (process.env.PORT ? Number(process.env.PORT) : DEFAULT_PORT)
  if (Number.isInteger(chosen) && chosen >= 0 && chosen <= 65_535) return chosen
  throw invalid(`port is 0 to 65535, not ${String(port ?? process.env.PORT)}`)
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

function invalid(message: string): SvcError {
  return new SvcError(message, 'invalid_options')
}
