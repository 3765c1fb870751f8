/** Plugs the adapters into the ports. What a seller got wrong is refused before anything is opened. */
import { ALGOD_TOKEN_HEADER, algodOver } from '../../adapters/algorand/algod-questions.js'
import { algorandChain } from '../../adapters/algorand/chain.js'
import { INDEXER_TOKEN_HEADER, indexerOver } from '../../adapters/algorand/indexer-questions.js'
import { isValidAddress } from '../../adapters/algorand/keys.js'
import { algorandPaymentReader } from '../../adapters/algorand/payment-reader.js'
import { facilitatorList } from '../../adapters/facilitator/failover.js'
import {
  type FacilitatorOptions,
  type X402Facilitator,
  x402Facilitator,
} from '../../adapters/facilitator/x402-facilitator.js'
import { httpApp } from '../../adapters/http/app.js'
import { freeRoutes } from '../../adapters/http/free-routes/index.js'
import { pathsOf } from '../../adapters/http/routes.js'
import { quietLogger } from '../../adapters/log/quiet-logger.js'
import { memoryChargeStore } from '../../adapters/memory/charge-store.js'
import { memoryCredit } from '../../adapters/memory/credit.js'
import { memoryRateLimit } from '../../adapters/memory/rate-limit.js'
import { memorySubscriptions } from '../../adapters/memory/subscriptions.js'
import type { AgentDef } from '../../domain/agent.js'
import { SvcError } from '../../domain/errors.js'
import { USDC_ASSET_ID } from '../../domain/network.js'
import { type Logger, silentLogger } from '../../ports/logger.js'
import { createCharge } from '../charge/charge.js'
import { leasesIn } from '../charge/leases.js'
import { pendingCloses } from '../charge/pending-closes.js'
import type { World } from '../charge/world.js'
import { checkedSigner } from '../manifest-signature.js'
import { auditingOf } from './audit.js'
import type { Warn } from './bazaar-extension.js'
import { boundedSubscriptions } from './bounded-subscriptions.js'
import { checkedHealthChecks } from './checks.js'
import { discoveryOf } from './documents.js'
import type { Drain } from './drain.js'
import { listingsOf } from './endpoints.js'
import { healthOf, readinessOf } from './health.js'
import { nodeWatch } from './node-watch.js'
import { observersOf } from './observers.js'
import {
  checkedBasePath,
  checkedHops,
  checkedHosts,
  DEFAULT_BODY_BYTES_MAX,
  deployed,
  positive,
  remotes,
  type ServerOptions,
} from './options.js'
import { releasingBodies, unpaidBodies } from './paid-bodies.js'
import { rulesOf } from './rules.js'
import type { Surroundings } from './surroundings.js'
import { sweeping } from './sweep.js'
import { doorsOf } from './transports.js'

/** What a seller's own store of windows may take to answer. */
const WINDOW_STORE_MS = 5_000

export function assemble(definition: AgentDef, options: ServerOptions, drain: Drain, around: Surroundings) {
  const { clock, random } = around
  const agent = deployed(definition, options)
  const basePath = checkedBasePath(options.basePath)
  const logger = options.logger === undefined ? silentLogger : quietLogger(options.logger)
  const warn = warner(options.logger && logger)
  if (!isValidAddress(agent.payTo))
    warn(`payTo ${agent.payTo} is no address: its checksum does not hold, and nobody can pay it`)
  const rules = rulesOf(options)
  const signer = checkedSigner(options.signManifest)
  const healthChecks = checkedHealthChecks(options.healthChecks)
  const auditing = auditingOf(agent, options, logger)
  const { journal } = auditing
  const observers = observersOf(options, logger, { inFlight: drain.count, journal })
  const bodyBytesMax = positive('maxBodyBytes', options.maxBodyBytes ?? DEFAULT_BODY_BYTES_MAX)
  const bodies = unpaidBodies(agent, bodyBytesMax, options.maxUnpaidBodyBytes)
  const listings = listingsOf(releasingBodies(agent, bodies), options, warn)

  const { facilitatorUrls, algodUrl, indexerUrl } = remotes(options, agent.network)
  const facilitators = facilitatorsOf(facilitatorUrls, {
    network: agent.network,
    allowHttp: options.allowHttp,
    // Waiting adds up where one after the other is asked.
    verifyTimeoutMs: Math.ceil(rules.budgets.verifyMs / facilitatorUrls.length),
    settleTimeoutMs: rules.budgets.settleMs,
    logger,
    clock,
    transport: around.transport,
  })
  const algod = algodOver(around.node({ url: algodUrl, token: options.algodToken }, ALGOD_TOKEN_HEADER))
  const indexer =
    indexerUrl === undefined ? undefined : indexerOver(around.node({ url: indexerUrl }, INDEXER_TOKEN_HEADER))
  const store = options.stores?.charges ?? memoryChargeStore({ clock, max: options.idempotency?.max })
  const watch = nodeWatch(warn, logger)
  const chain = algorandChain({ network: agent.network, algod, indexer, watch, clock })
  const windows = options.subscriptions?.store ?? options.stores?.subscriptions
  const world: World = {
    network: agent.network,
    payTo: agent.payTo,
    assetId: String(USDC_ASSET_ID[agent.network]),
    listings,
    facilitator: facilitatorList(facilitators, { clock }),
    chain,
    store,
    subscriptions: windows
      ? boundedSubscriptions(windows, WINDOW_STORE_MS, clock)
      : memorySubscriptions({ clock }),
    rateLimit: options.stores?.rateLimit ?? memoryRateLimit({ clock }),
    credit: options.stores?.credit ?? memoryCredit({ clock }),
    leases: leasesIn(store, rules.budgets.leaseMs, logger, clock),
    pendingCloses: pendingCloses(store, logger, clock),
    reader: algorandPaymentReader(),
    clock,
    random,
    stop: drain.stop,
    logger,
    rules,
  }
  const stopSweeping = sweeping(world.subscriptions, clock, logger)
  const condition = { agent, facilitators, world, healthChecks, journal }
  const facilitatorUrl = facilitators[0].url
  const documents = discoveryOf({ agent, basePath, facilitatorUrl, signer, logger, clock })
  const charge = createCharge(world, [...observers.witnesses, ...auditing.witnesses], drain.inFlight)
  const mount = {
    basePath,
    bodyBytesMax,
    bodies,
    trustProxyHops: checkedHops(options.trustProxy),
    idempotency: rules.idempotency !== undefined,
    logger,
  }
  const doors = doorsOf({ ...mount, agent, charge, documents, facilitatorUrl, algodUrl, around }, options)
  const free = freeRoutes({
    documents,
    health: healthOf(condition),
    readiness: readinessOf(condition),
    metrics: observers.metrics,
    runs: observers.runs,
    operationsHosts: checkedHosts('operationsHosts', options.operationsHosts),
  }).concat(doors.routes, auditing.routes)
  const app = httpApp({
    ...mount,
    charge,
    endpoints: agent.endpoints,
    freeRoutes: free,
    cors: options.cors ?? true,
  })
  // Last, when nothing else can be refused any more: what it locks is given back by `closeObservers`.
  auditing.openJournal()
  const paid = agent.endpoints.map(({ name, method }) => `${method} ${basePath}/${name}`)
  return {
    app,
    network: agent.network,
    routes: [
      ...paid,
      ...free.flatMap(route => pathsOf(route, basePath).map(path => `${route.method} ${path}`)),
    ],
    async closeRemotes() {
      stopSweeping()
      world.leases.close()
      world.pendingCloses.close()
      chain.close()
      await Promise.all([...facilitators, algod, indexer, doors].map(remote => remote?.close()))
    },
    endStreams: auditing.endStreams,
    closeObservers: () => Promise.all([observers.close(), auditing.close()]),
  }
}

type Facilitators = readonly [X402Facilitator, ...X402Facilitator[]]

function facilitatorsOf(urls: readonly string[], options: Omit<FacilitatorOptions, 'url'>): Facilitators {
  const [first, ...others] = urls.map(url => x402Facilitator({ ...options, url }))
  if (first === undefined) throw new SvcError('facilitatorUrl names no facilitator', 'invalid_options')
  return [first, ...others]
}

/** A seller without a logger still reads the console while starting: what is warned of here loses money or callers. */
function warner(logger: Logger | undefined): Warn {
  return (message, fields = {}) => (logger ? logger.warn(fields, message) : console.warn(message))
}
