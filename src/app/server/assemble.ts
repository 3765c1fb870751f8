/** Plugs the adapters into the ports, as the settings say. Refuses the seller's mistakes before it opens anything. */

import { algorandChain } from '../../adapters/algorand/chain-reader.js'
import type { NodeWatch } from '../../adapters/algorand/checked-last-round.js'
import { algodClient, indexerClient } from '../../adapters/algorand/node-clients.js'
import { facilitatorList } from '../../adapters/facilitator/failover.js'
import { BodyBudget } from '../../adapters/http/body-memory-limit.js'
import { freeRoutes } from '../../adapters/http/free-routes.js'
import { pathsOf, routeTable } from '../../adapters/http/route-table.js'
import { memoryChargeStore } from '../../adapters/memory/charge-store.js'
import { memoryCounters } from '../../adapters/memory/counters.js'
import { memorySubscriptions } from '../../adapters/memory/subscriptions.js'
import { memoryTasks } from '../../adapters/memory/task-store.js'
import { firstName } from '../../domain/former-names.js'
import type { Logger } from '../../ports/logger.js'
import type { ChargeDeps } from '../charge/charge-deps.js'
import { leasesIn } from '../charge/leases.js'
import { ownerOf } from '../charge/owners.js'
import { paymentsInDoubt } from '../charge/payments-in-doubt.js'
import { pendingCloses, pendingWindowMoves } from '../charge/pending-moves.js'
import { tellObservers } from '../charge/tell-observers.js'
import { createCharge } from '../charge/walk-charge-machine.js'
import { tasksOver } from '../tasks/tasks-over-store.js'
import { documentsOf } from './agent-documents.js'
import type { BesideTheCore } from './beside-the-core.js'
import type { Drain } from './drain.js'
import { endpointEntries } from './endpoint-entries.js'
import { healthOf, readinessOf } from './health.js'
import { observersOf } from './observer-options.js'
import type { PlatformServices } from './platform-services.js'
import { quotedSponsors } from './quoted-sponsors.js'
import { facilitatorsOf } from './remotes-from-options.js'
import type { Settings, Warn } from './settings-from-options.js'
import { boundedSubscriptions, checkMoves, sweeping } from './subscription-store-upkeep.js'
import { transportsOf } from './transports.js'

/** When what the first payment needs is loaded, unless a payment comes before. */
const PREPARED_MS = 500

/** @throws SvcError `invalid_options`, `invalid_facilitator`, `journal_locked`, `journal_unwritable` */
export function assemble(settings: Settings, drain: Drain, around: PlatformServices, beside: BesideTheCore) {
  const { agent, basePath, maxBodyBytes, maxTimeoutSeconds, logger, network, rules, stores } = settings
  const { clock, random } = around
  const audit = beside.audit(settings)
  const { journal } = audit
  const observers = observersOf(settings, { inFlight: drain.count, journal })
  const callObservers = [...observers.callObservers, ...audit.callObservers]
  const onDecided = (txId: string, landed: boolean) =>
    tellObservers(callObservers, logger, observer => observer.decided?.(txId, landed))
  const bodies = new BodyBudget(settings.maxUnpaidBodyBytes)
  const owner = ownerOf(network, agent.payTo, firstName(agent.handle, agent.formerly))
  const endpoints = endpointEntries(settings, owner)
  const facilitators = facilitatorsOf(settings, around)
  const remotes = nodesOf(settings, around)
  const store = stores.charges ?? memoryChargeStore({ clock, max: settings.idempotency?.max })
  const chain = algorandChain({
    network,
    ...remotes,
    watch: nodeStatusLog(settings.warn, logger),
    clock,
  })
  checkMoves(agent, stores.subscriptions)
  const subscriptions = stores.subscriptions
    ? boundedSubscriptions(stores.subscriptions, clock)
    : memorySubscriptions({ clock })
  const leases = leasesIn(store, rules.timeouts.leaseMs, logger, clock)
  const upkeep = {
    leases,
    inDoubt: paymentsInDoubt({ chain, store, logger, clock, onDecided }),
    pendingCloses: pendingCloses(store, leases, logger, clock),
    pendingWindowMoves: pendingWindowMoves(subscriptions, logger, clock),
  }
  const deps: ChargeDeps = {
    owner,
    endpoints,
    facilitator: facilitatorList(facilitators, {
      clock,
      quoted: quotedSponsors({
        owner,
        subscriptions,
        clock,
        quoteLifeMs: maxTimeoutSeconds * 1_000,
      }),
    }),
    chain,
    store,
    subscriptions,
    rateLimit: stores.rateLimit ?? memoryCounters({ clock }),
    credit: stores.credit ?? memoryCounters({ clock }),
    upkeep,
    reader: around.paymentReader,
    clock,
    random,
    stop: drain.stop,
    logger,
    rules,
  }
  // A process that was started for a request answers it first.
  const stopPreparing = clock.after(PREPARED_MS, () => {
    deps.reader().catch(err => logger.error({ err }, 'no payment can be read'))
  })
  const stopSweeping = sweeping(deps.subscriptions, clock, logger)
  const charge = createCharge(deps, callObservers, drain.inFlight)
  const facilitatorUrl = facilitators[0].url
  const documents = documentsOf({
    agent,
    basePath,
    facilitatorUrl,
    signer: settings.signManifest,
    logger,
    clock,
  })
  const mount = {
    basePath,
    bodyBytesMax: maxBodyBytes,
    bodies,
    trustProxyHops: settings.trustProxy,
    idempotency: rules.idempotency !== undefined,
    logger,
  }
  const tasks = tasksOver(deps, {
    store: stores.tasks ?? memoryTasks({ clock, completedMax: settings.idempotency?.max }),
    terms: { max: settings.tasks.max, inputBytesMax: settings.tasks.maxInputBytes },
    quoteLifeMs: maxTimeoutSeconds * 1_000,
  })
  const registry = beside.registry(settings, around.exchange)
  const transports = transportsOf(
    { ...mount, charge, tasks, documents, facilitatorUrl, around, registry },
    settings,
  )
  const condition = { agent, facilitators, deps, healthChecks: settings.healthChecks, journal }
  const free = freeRoutes({
    agent,
    documents,
    health: healthOf(condition),
    readiness: readinessOf(condition),
    metrics: observers.metrics,
    runs: observers.runs,
    operationsHosts: settings.operationsHosts,
  }).concat(transports, audit.routes)
  const table = routeTable({
    ...mount,
    charge,
    endpoints: agent.endpoints,
    freeRoutes: free,
    cors: settings.cors,
  })
  // Open the journal last, when nothing else can fail: `closeObservers` releases its lock.
  audit.openJournal()
  const paid = agent.endpoints.map(({ name, method }) => `${method} ${basePath}/${name}`)
  return {
    table,
    network: network.name,
    routes: [
      ...paid,
      ...free.flatMap(route => pathsOf(route, basePath).map(path => `${route.method} ${path}`)),
    ],
    async closeRemotes() {
      stopPreparing()
      stopSweeping()
      for (const part of Object.values(upkeep)) part.close()
      chain.close()
      const { algod, indexer } = remotes
      await Promise.all([...facilitators, algod, indexer, registry].map(remote => remote?.close()))
    },
    endStreams: audit.endStreams,
    closeObservers: audit.close,
  }
}

function nodesOf({ algodUrl, algodToken, indexerUrl }: Settings, { exchange }: PlatformServices) {
  return {
    algod: algodClient({ url: algodUrl, token: algodToken, exchange }),
    indexer: indexerUrl === undefined ? undefined : indexerClient({ url: indexerUrl, exchange }),
  }
}

const CHECK_EVERY_MS = 30_000

/** Logs each change in the Algorand node's status once, for the seller. */
function nodeStatusLog(warn: Warn, logger: Logger): NodeWatch {
  return {
    everyMs: CHECK_EVERY_MS,
    onChange(status, genesisHash) {
      if (status === 'wrongNetwork') {
        warn('The Algorand node (algodUrl) is of another network: nothing that it says is used', {
          genesisHash,
        })
      } else if (status === 'unanswered') {
        logger.warn(
          {},
          'the Algorand node gives no usable answer: rounds are unknown and no settlement can be proven',
        )
      } else logger.info({}, 'the Algorand node answers for our network again')
    },
  }
}
