/**
 * The options of a server, read once: this file checks every option and sets every default. No other file sees the
 * options. Options that are objects with their own checks (webhooks, stores) are checked where they are used.
 */
import { isValidAddress } from '../../adapters/algorand/signing-keys.js'
import { quietLogger } from '../../adapters/log/quiet-logger.js'
import { isAddress } from '../../domain/address.js'
import type { AgentDef } from '../../domain/agent.js'
import { DEFAULT_EXT_BASE } from '../../domain/agent-card.js'
import type { RegistryIdentity } from '../../domain/agent-registry.js'
import { SvcError, shown } from '../../domain/errors.js'
import type { NetworkFacts, NetworkIds } from '../../domain/network.js'
import { networkFacts } from '../../domain/network-definition.js'
import { type Logger, silentLogger } from '../../ports/logger.js'
import type { ProtocolFacilitator } from '../../ports/protocol-facilitator.js'
import type { Rate, Rules } from '../charge/charge-deps.js'
import type { ManifestSigner } from '../manifest-signature.js'
import type { TaskTerms } from '../tasks/tasks-over-store.js'
import { rateOf, rulesOf, taskTermsOf } from './charge-rules-from-options.js'
import { boolean, hostNames, invalid, oneOf, positive, secretToken } from './option-checks.js'
import { type Remotes, remotesOf } from './remotes-from-options.js'
import type { FacilitatorElsewhere, ServerOptions, Stores } from './server-options.js'

export interface Settings {
  /** The agent as this deployment serves it: `network` and `payTo` may be overridden. */
  readonly agent: AgentDef
  /** The network of `agent`, read. */
  readonly network: NetworkFacts
  readonly basePath: string
  /** The largest body of an endpoint that does not set its own limit. */
  readonly bodyBytesMax: number
  /** The largest body that any endpoint reads. */
  readonly largestBodyBytes: number
  /** How many bytes the bodies of all unpaid requests may hold together. */
  readonly unpaidBodyBytesMax: number
  readonly cors: boolean
  readonly trustProxyHops: number
  readonly operationsHosts: ReadonlySet<string>
  /** Empty where there is a facilitator in this process. */
  readonly facilitatorsElsewhere: readonly FacilitatorElsewhere[]
  readonly facilitatorConnectionsMax: number
  readonly facilitator: ProtocolFacilitator | undefined
  readonly allowHttp: boolean
  readonly algodUrl: string
  readonly algodToken: string | undefined
  readonly indexerUrl: string | undefined
  /** Seconds. */
  readonly quoteTimeoutSeconds: number
  readonly networkIds: NetworkIds
  readonly rules: Rules
  /** The rate limit of endpoints without their own limit. */
  readonly rate: Rate | undefined
  /** The limits of tasks that wait for their payment. */
  readonly tasks: TaskTerms
  /** How many answers are kept in this process's memory. */
  readonly answersMax: number | undefined
  readonly stores: Stores
  readonly runsCapacity: number
  readonly healthChecks: NonNullable<ServerOptions['healthChecks']>
  readonly extBase: string
  readonly registry: RegistryIdentity
  readonly signer: ManifestSigner | undefined
  readonly webhooks: NonNullable<ServerOptions['webhooks']>
  /** Whether the audit page is served, and to whom, and whether calls keep for it what handlers threw and logged. */
  readonly audit: { readonly token: string | undefined } | undefined
  readonly keepsMessages: boolean
  readonly journal: { readonly path: string; readonly bytesMax: number } | undefined
  /** Whether answers are compared with their `output` schema: everywhere but in production. */
  readonly checksAnswers: boolean
  /** Silent where the seller gave no logger. */
  readonly logger: Logger
  /** Warns about an agent that has a mistake but can be served. */
  readonly warn: Warn
}

export type Warn = (message: string, fields?: object) => void

export const DEFAULT_BODY_BYTES_MAX = 1_048_576
const QUOTE_TIMEOUT_DEFAULT_SECONDS = 300
const RUNS_CAPACITY_DEFAULT = 100

/** @throws SvcError `invalid_options`, `invalid_address` */
export function settingsOf(definition: AgentDef, options: ServerOptions): Settings {
  const network = networkFacts(options.network ?? definition.network, invalidBecause)
  const agent = deployed(definition, network, options)
  const logger = options.logger === undefined ? silentLogger : quietLogger(options.logger)
  const warn = warner(options.logger && logger)
  if (!isValidAddress(agent.payTo))
    warn(`payTo ${agent.payTo} is no address: its checksum does not hold, and nobody can pay it`)
  const bodyBytesMax = positive('maxBodyBytes', options.maxBodyBytes ?? DEFAULT_BODY_BYTES_MAX)
  const largestBodyBytes = Math.max(
    bodyBytesMax,
    ...agent.endpoints.map(({ maxBodyBytes = 0 }) => maxBodyBytes),
  )
  return {
    agent,
    network,
    basePath: basePathOf(options.basePath),
    bodyBytesMax,
    largestBodyBytes,
    unpaidBodyBytesMax: unpaidBytesOf(largestBodyBytes, options.maxUnpaidBodyBytes),
    cors: options.cors ?? true,
    trustProxyHops: hopsOf(options.trustProxy),
    operationsHosts: hostNames('operationsHosts', options.operationsHosts),
    ...reached(network, remotesOf(options, network)),
    allowHttp: options.allowHttp ?? false,
    quoteTimeoutSeconds: positive(
      'maxTimeoutSeconds',
      options.maxTimeoutSeconds ?? QUOTE_TIMEOUT_DEFAULT_SECONDS,
    ),
    networkIds: oneOf('networkIds', options.networkIds ?? 'both', ['short', 'both']),
    rules: rulesOf(options),
    rate: rateOf(options.rateLimit),
    tasks: taskTermsOf(options.tasks),
    answersMax: options.idempotency?.max,
    stores: storesOf(options),
    runsCapacity: positive('runsCapacity', options.runsCapacity ?? RUNS_CAPACITY_DEFAULT),
    healthChecks: healthChecksOf(options.healthChecks),
    extBase: extBaseOf(options.extBase),
    registry: registryOf(options.registry),
    signer: signerOf(options.signManifest),
    webhooks: options.webhooks ?? [],
    ...auditOf(options.audit),
    journal: journalOf(options.journal),
    checksAnswers: process.env.NODE_ENV !== 'production',
    logger,
    warn,
  }
}

function deployed(agent: AgentDef, network: NetworkFacts, { payTo = agent.payTo }: ServerOptions): AgentDef {
  if (!isAddress(payTo)) {
    throw new SvcError(
      `payTo is an Algorand address of 58 base32 characters, not '${payTo}'`,
      'invalid_address',
    )
  }
  return { ...agent, network: network.given, payTo }
}

/** A seller without a logger still reads the console at start. These warnings are about losing money or callers. */
function warner(logger: Logger | undefined): Warn {
  return (message, fields = {}) => (logger ? logger.warn(fields, message) : console.warn(message))
}

const BASE_PATH = /^(\/[A-Za-z0-9._~-]+)*$/

function basePathOf(basePath = ''): string {
  const path = basePath.replace(/\/+$/, '')
  if (BASE_PATH.test(path)) return path
  throw invalid(`basePath is a path such as '/api', not ${JSON.stringify(basePath)}`)
}

/** A parsed body takes up to 21 times its bytes (measured). This limit keeps that within 512 MiB. */
const UNPAID_BYTES_DEFAULT = 16_777_216
/** The default is at least this many times the largest body that any endpoint reads. */
const LARGEST_BODIES = 4

function unpaidBytesOf(largest: number, bytesMax: number | undefined): number {
  if (bytesMax === undefined) return Math.max(UNPAID_BYTES_DEFAULT, LARGEST_BODIES * largest)
  if (positive('maxUnpaidBodyBytes', bytesMax) >= 2 * largest) return bytesMax
  throw invalid(
    `maxUnpaidBodyBytes is at least ${2 * largest}, twice the largest body that is read, not ${bytesMax}`,
  )
}

function hopsOf(trustProxy = 0): number {
  if (Number.isInteger(trustProxy) && trustProxy >= 0) return trustProxy
  throw invalid(`trustProxy is how many proxies are in front, 0 or more, not ${shown(trustProxy)}`)
}

function invalidBecause(why: string): never {
  throw invalid(why)
}

/** A network of one's own comes without defaults: what a definition leaves out the options say. */
function reached({ name }: NetworkFacts, { algodUrl, ...others }: Remotes) {
  const missing = (option: string) => invalid(`There is no ${option} for ${name}: give one in the options`)
  if (algodUrl === undefined) throw missing('algodUrl')
  const { facilitator, facilitatorsElsewhere } = others
  if (facilitatorsElsewhere.length === 0 && facilitator === undefined) throw missing('facilitatorUrl')
  return { algodUrl, ...others }
}

/** Reads each store by its name: a spread would lose the getters of a class. */
function storesOf({ stores, subscriptions }: ServerOptions): Stores {
  return {
    charges: stores?.charges,
    subscriptions: subscriptions?.store ?? stores?.subscriptions,
    rateLimit: stores?.rateLimit,
    credit: stores?.credit,
    tasks: stores?.tasks,
    runs: stores?.runs,
  }
}

function healthChecksOf(checks: ServerOptions['healthChecks'] = {}): Settings['healthChecks'] {
  for (const [name, check] of Object.entries(checks)) {
    if (typeof check !== 'function') throw invalid(`The health check '${name}' is not a function`)
  }
  return checks
}

function extBaseOf(extBase = DEFAULT_EXT_BASE): string {
  // Headers carry this value, and they allow no other characters. A check after a charge would be too late.
  if (URL.canParse(extBase) && /^[\x21-\x7e]+$/.test(extBase)) return extBase
  throw invalid(`extBase is an absolute URL in ASCII, not ${JSON.stringify(extBase)}`)
}

function registryOf(registry: RegistryIdentity = {}): RegistryIdentity {
  for (const [name, id] of Object.entries(registry)) {
    if (id === undefined || (Number.isSafeInteger(id) && id > 0)) continue
    throw invalid(`registry.${name} is a positive whole number, not ${JSON.stringify(id)}`)
  }
  return registry
}

function signerOf(signer: ManifestSigner | undefined): ManifestSigner | undefined {
  if (signer === undefined) return undefined
  const { origin, address, sign } = signer
  if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
    throw invalid(
      `signManifest.origin is an origin such as 'https://agent.example', not ${JSON.stringify(origin)}`,
    )
  }
  if (!isValidAddress(address)) throw invalid('signManifest.address is not an Algorand address')
  if (typeof sign !== 'function') throw invalid('signManifest.sign is not a function')
  return signer
}

function auditOf(audit: ServerOptions['audit'] = process.env.SVC_AUDIT === '1') {
  const isDevelopment = process.env.SVC_DEV === '1' || process.env.NODE_ENV === 'development'
  if (typeof audit === 'boolean')
    return { audit: audit ? { token: undefined } : undefined, keepsMessages: audit && isDevelopment }
  const { token, messages = isDevelopment } = audit
  return {
    audit: { token: secretToken('audit.token', token) },
    keepsMessages: boolean('audit.messages', messages),
  }
}

const JOURNAL_BYTES_MAX = 256 * 1024 * 1024

function journalOf(journal: ServerOptions['journal']): Settings['journal'] {
  if (journal === undefined) return undefined
  const { path, maxBytes = JOURNAL_BYTES_MAX } = typeof journal === 'string' ? { path: journal } : journal
  if (typeof path === 'string' && path !== '' && Number.isSafeInteger(maxBytes) && maxBytes > 0)
    return { path, bytesMax: maxBytes }
  throw invalid('journal is a path, or { path, maxBytes } with a positive whole number')
}
