/** Plugs the adapters into the ports, as the settings say. Refuses the seller's mistakes before it opens anything. */
import { a2aTransport, descriptor } from '../../adapters/a2a/transport.js'
import { algorandChain } from '../../adapters/algorand/chain-reader.js'
import { facilitatorList } from '../../adapters/facilitator/failover.js'
import { BodyBudget } from '../../adapters/http/body-memory-limit.js'
import { freeRoutes, jsonDocument } from '../../adapters/http/free-routes.js'
import { endpointAt, patternMatcher } from '../../adapters/http/match-path.js'
import { httpErrorOf } from '../../adapters/http/reply.js'
import { pathsOf, type RouteTable, routeTable } from '../../adapters/http/route-table.js'
import { transportRoute } from '../../adapters/http/transport-route.js'
import { requestLog } from '../../adapters/log/request-log.js'
import { mcpTransport } from '../../adapters/mcp/transport.js'
import { storesOf } from '../../adapters/memory/charge-store.js'
import { memoryCounters } from '../../adapters/memory/counters.js'
import { memoryRuns } from '../../adapters/memory/recent-runs.js'
import { A2A_PATH, agentCard, CARD_PATHS, MCP_PATH } from '../../domain/agent-card.js'
import { isLoopback } from '../../domain/caller-ip-network.js'
import type { EndpointDef } from '../../domain/endpoint.js'
import { firstName } from '../../domain/endpoint-lifecycle.js'
import { methodsOf, pathOfEndpoint } from '../../domain/path-pattern.js'
import { silentLogger } from '../../ports/logger.js'
import type { ChargeDeps } from '../charge/charge-deps.js'
import { leasesIn } from '../charge/leases.js'
import { paymentsInDoubt } from '../charge/look-up-payments-in-doubt.js'
import { ownerOf } from '../charge/names-in-stores.js'
import { pendingCloses, pendingWindowMoves } from '../charge/resend-lost-moves.js'
import { tellObservers } from '../charge/tell-observers.js'
import { createCharge } from '../charge/walk-charge-machine.js'
import { tasksOver } from '../tasks/tasks-over-store.js'
import { documentsOf } from './agent-documents.js'
import { facilitatorsOf, nodeStatusLog, nodesOf } from './connect-remotes.js'
import type { Drain } from './drain.js'
import { entryMaker } from './endpoint-entries.js'
import { healthOf, readinessOf } from './health.js'
import type { Settings } from './options/server-settings.js'
import { quotedSponsors } from './quoted-sponsors.js'
import type { ServerEnvironment } from './server-environment.js'
import { boundedSubscriptions, checkMoves, sweeping } from './subscription-store-upkeep.js'

/** When what the first payment needs is loaded, unless a payment comes before. */
const PREPARED_MS = 500

/** Books, metrics, and connections to facilitators and nodes. `svc sell` keeps them when its terms change, and closes them itself. */
export type Lasting = ReturnType<typeof lastingOf>

/** @throws SvcError `invalid_options`, `invalid_facilitator` */
export function lastingOf(settings: Settings, around: ServerEnvironment, inFlight: () => number) {
  const { network, stores = {} } = settings
  const { clock } = around
  const audit = around.audit(settings, inFlight)
  const facilitators = facilitatorsOf(settings, around)
  const nodes = nodesOf(settings, around)
  const chain = algorandChain({ network, ...nodes, watch: nodeStatusLog(settings), clock })
  return {
    ...audit,
    runs: stores.runs ?? memoryRuns(settings.runsCapacity),
    rateLimit: stores.rateLimit ?? memoryCounters({ clock }),
    facilitators,
    chain,
    async closeRemotes() {
      chain.close()
      await Promise.all([...facilitators, ...Object.values(nodes)].map(remote => remote?.close()))
    },
  }
}

/** @throws SvcError `invalid_options`, `invalid_facilitator`, `journal_locked`, `journal_unwritable` */
export function assemble(
  settings: Settings,
  drain: Drain,
  around: ServerEnvironment,
  lasting: Lasting = lastingOf(settings, around, drain.count),
) {
  const { agent, basePath, doors, logger, network, rules, stores = {} } = settings
  const { clock, random } = around
  const quoteLifeMs = settings.maxTimeoutSeconds * 1_000
  const { facilitators, chain, metrics, journal, runs, rateLimit } = lasting
  const logged = logger === silentLogger ? [] : [requestLog(logger)]
  const callObservers = [runs, ...logged, ...lasting.callObservers]
  const onDecided = (txId: string, landed: boolean) =>
    tellObservers(callObservers, logger, observer => observer.decided?.(txId, landed))
  const bodies = new BodyBudget(settings.maxUnpaidBodyBytes)
  const owner = ownerOf(network, agent.payTo, firstName(agent.handle, agent.formerly))
  const entryOf = entryMaker(settings, owner)
  const endpoints = new Map(agent.endpoints.map(def => [def.name, entryOf(def)]))
  const own = storesOf(`${owner.seller} ${chainOf(settings)}`, clock, settings.idempotency?.max)
  const store = stores.charges ?? own.charges()
  const ownWindows = settings.subscriptions.store ?? stores.subscriptions
  checkMoves(agent, store, ownWindows)
  const subscriptions = ownWindows ? boundedSubscriptions(ownWindows, clock) : own.subscriptions()
  const leases = leasesIn(store, rules.timeouts.leaseMs, logger, clock)
  const upkeep = {
    leases,
    inDoubt: paymentsInDoubt({ chain, store, logger, clock, onDecided }),
    pendingCloses: pendingCloses(store, leases, logger, clock),
    pendingWindowMoves: pendingWindowMoves(subscriptions, logger, clock),
  }
  const { inDoubt, pendingCloses: closes, pendingWindowMoves: windowMoves } = upkeep
  const deps: ChargeDeps = {
    owner,
    endpoints,
    facilitator: facilitatorList(facilitators, {
      clock,
      quoted: quotedSponsors({ owner, subscriptions, clock, quoteLifeMs }),
    }),
    chain,
    store,
    subscriptions,
    rateLimit,
    credit: stores.credit ?? own.credit(),
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
  const documents = documentsOf(settings, facilitatorUrl, clock)
  const mount = {
    basePath,
    bodyBytesMax: settings.maxBodyBytes,
    bodies,
    trustProxyHops: settings.trustProxy,
    idempotency: rules.idempotency !== undefined,
    logger,
  }
  const tasks = tasksOver(deps, {
    store: stores.tasks ?? own.tasks(),
    terms: settings.tasks,
    quoteLifeMs,
  })
  const registry = around.registry(settings, around.exchange)
  const protocols = {
    agent,
    match: endpointAt(patternMatcher(agent.endpoints)),
    charge,
    tasks,
    registry,
    logger,
    clock,
    random,
    bodyBytesMax: settings.maxBodyBytes,
    extBase: settings.extBase,
    network: network.key,
    manifest: documents.manifest,
  }
  const mcp = mcpTransport(protocols)
  const { extBase, registry: apps } = settings
  const shown = { facilitatorUrl, extBase, registry: apps, tools: doors.mcp ? mcp.toolNames : undefined }
  const card = (rootUrl: string) =>
    JSON.stringify(agentCard(agent, { ...shown, rootUrl, baseUrl: rootUrl + basePath }))
  // A message may be as large as the largest input that it can carry.
  const messages = { ...mount, bodyBytesMax: settings.largestBodyBytes }
  const transports = [
    doors.a2a && [
      ...CARD_PATHS.map(path => jsonDocument(path, card)),
      jsonDocument(A2A_PATH, rootUrl => JSON.stringify(descriptor(agent, rootUrl))),
      transportRoute(A2A_PATH, a2aTransport({ ...protocols, endpoints: agent.endpoints }), messages),
    ],
    doors.mcp && transportRoute(MCP_PATH, mcp, messages),
  ]
    .filter(door => door !== false)
    .flat()
  const condition = { agent, facilitators, deps, healthChecks: settings.healthChecks, journal }
  const free = freeRoutes({
    agent,
    documents,
    health: healthOf(condition),
    readiness: readinessOf(condition),
    metrics,
    runs,
    operationsHosts: settings.operationsHosts,
    doors,
  }).concat(transports, lasting.routes)
  const gated: RouteTable[] = []
  const table = routeTable({
    ...mount,
    charge,
    endpoints: agent.endpoints,
    freeRoutes: free,
    passed: around.passed,
    gated,
    cors: settings.cors,
  })
  // Open the journal last, when nothing else can fail: `closeObservers` releases its lock.
  lasting.openJournal()
  const paid = agent.endpoints.flatMap(def =>
    methodsOf(def).map(method => `${method} ${basePath}${pathOfEndpoint(def)}`),
  )
  return {
    table,
    /** Adds an endpoint that another app routes to. Its table knows this endpoint alone. */
    sell(def: EndpointDef): RouteTable {
      checkMoves({ ...agent, endpoints: [def] }, store, ownWindows)
      endpoints.set(def.name, entryOf(def))
      documents.forget()
      const own = { endpoints: [def], freeRoutes: [], cors: false, notFound: httpErrorOf('invalid_path') }
      gated.push(routeTable({ ...mount, charge, ...own }))
      return gated.at(-1)!
    },
    network: network.name,
    routes: paid.concat(
      free.flatMap(route => pathsOf(route, basePath).map(path => `${route.method} ${path}`)),
    ),
    sent: () => Promise.all([closes.sent(), windowMoves.sent(), inDoubt.decided()]),
    async closeRemotes() {
      stopPreparing()
      stopSweeping()
      for (const part of Object.values(upkeep)) part.close()
      own.leave()
      await Promise.all([lasting.closeRemotes(), registry?.close()])
    },
    endStreams: lasting.endStreams,
    closeObservers: lasting.close,
  }
}

/**
 * Sandboxes have chains of their own, the same seller's address, and nothing else in common. One is node and facilitator on this machine.
 * All others of a network are one chain, whatever node an agent asks.
 */
function chainOf({ algodUrl, facilitatorsElsewhere }: Settings): string {
  const urls = [algodUrl, ...facilitatorsElsewhere.map(({ url }) => url)].map(url => new URL(url))
  return urls.every(({ hostname }) => isLoopback(hostname)) ? urls[0]!.port : ''
}
