/** Plugs the adapters into the ports: from an agent and options to a Koa app, and from that to a listening server. */
import { createServer as createHttpServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type Koa from 'koa'
import { algodClient } from '../adapters/algorand/algod.js'
import { algorandChain } from '../adapters/algorand/chain.js'
import { indexerClient } from '../adapters/algorand/indexer.js'
import { algorandPaymentReader } from '../adapters/algorand/payment-reader.js'
import { facilitatorList } from '../adapters/facilitator/failover.js'
import {
  type FacilitatorOptions,
  type X402Facilitator,
  x402Facilitator,
} from '../adapters/facilitator/x402-facilitator.js'
import { httpApp } from '../adapters/http/app.js'
import { answerBrokenRequests } from '../adapters/http/broken-requests.js'
import { freeRoutes } from '../adapters/http/free-routes.js'
import { memoryChargeStore } from '../adapters/memory/charge-store.js'
import { memoryRateLimit } from '../adapters/memory/rate-limit.js'
import { memoryRuns } from '../adapters/memory/runs.js'
import { memorySubscriptions } from '../adapters/memory/subscriptions.js'
import type { AgentDef } from '../domain/agent.js'
import { SvcError } from '../domain/errors.js'
import { USDC_ASSET_ID } from '../domain/network.js'
import { systemClock } from '../ports/clock.js'
import { silentLogger } from '../ports/logger.js'
import { createCharge } from './charge/charge.js'
import type { World } from './charge/world.js'
import { createDrain, type Drain, type ShutdownReport } from './drain.js'
import { listingsOf } from './listings.js'
import {
  checkedBasePath,
  checkedPort,
  DEFAULT_BODY_BYTES_MAX,
  DEFAULT_SHUTDOWN_TIMEOUT_MS,
  deployed,
  positive,
  type Ready,
  remotes,
  type ServeOptions,
  type ServerOptions,
} from './options.js'
import { rulesOf } from './rules.js'

export interface SvcServer extends Server {
  /** Stops taking calls, waits for those in flight, cuts what outlasts `shutdownTimeoutMs`, then closes. */
  shutdown(reason?: string): Promise<ShutdownReport>
  uninstallSignals(): void
}

/**
 * The configured Koa app, without listening: to be mounted in another, or given to a server of one's own. Nothing waits
 * for the network.
 *
 * @throws SvcError `invalid_options`, `invalid_address`, `invalid_facilitator`
 */
export function createServer(agent: AgentDef, options: ServerOptions = {}): Koa {
  return assemble(agent, options, createDrain(DEFAULT_SHUTDOWN_TIMEOUT_MS)).app
}

/**
 * Serves an agent over HTTP.
 *
 * @example
 * serve(agent, { port: 4021 })
 *
 * @throws SvcError `invalid_options`, `invalid_address`, `invalid_facilitator`
 */
export function serve(agent: AgentDef, options: ServeOptions = {}): SvcServer {
  const port = checkedPort(options.port)
  const drain = createDrain(options.shutdownTimeoutMs ?? DEFAULT_SHUTDOWN_TIMEOUT_MS)
  const { app, routes, network, close } = assemble(agent, options, drain)
  const server = createHttpServer(app.callback())
  answerBrokenRequests(server)
  server.listen(port, options.host, () => {
    const ready = { port: (server.address() as AddressInfo).port, routes, network }
    ;(options.onReady ?? sayReady)(ready)
  })
  let report: Promise<ShutdownReport> | undefined
  const shutdown = (reason = 'shutdown') => {
    const drained = drain.shutdown(reason)
    report ??= drained.then(async ended => {
      await closeServer(server, ended)
      const closed = close()
      // A payment that was posted is not waited for twice: it is recorded, and whoever comes next finds it.
      if (ended.outcome === 'drained') await closed
      uninstallSignals()
      ;(options.onShutdown ?? exit)(ended)
      return ended
    })
    return report
  }
  const uninstallSignals = options.handleSignals === false ? () => {} : installSignals(shutdown)
  return Object.assign(server, { shutdown, uninstallSignals })
}

function assemble(definition: AgentDef, options: ServerOptions, drain: Drain) {
  const agent = deployed(definition, options)
  const basePath = checkedBasePath(options.basePath)
  const { facilitatorUrls, algodUrl, indexerUrl } = remotes(options, agent.network)
  const clock = options.clock ?? systemClock
  const logger = options.logger ?? silentLogger
  const rules = rulesOf(options)
  const facilitators = facilitatorsOf(facilitatorUrls, {
    network: agent.network,
    allowHttp: options.allowHttp,
    // Waiting adds up where one after the other is asked; the lease on a payment counts on the whole.
    verifyTimeoutMs: Math.ceil(rules.budgets.verifyMs / facilitatorUrls.length),
    settleTimeoutMs: rules.budgets.settleMs,
    logger,
  })
  const algod = algodClient({ url: algodUrl, token: options.algodToken })
  const indexer = indexerUrl === undefined ? undefined : indexerClient({ url: indexerUrl })
  const chain = algorandChain({ network: agent.network, algod, indexer })
  const world: World = {
    network: agent.network,
    payTo: agent.payTo,
    assetId: String(USDC_ASSET_ID[agent.network]),
    listings: listingsOf(agent, options),
    facilitator: facilitatorList(facilitators),
    chain,
    store: options.stores?.charges ?? memoryChargeStore({ clock, max: options.idempotency?.max }),
    subscriptions:
      options.subscriptions?.store ?? options.stores?.subscriptions ?? memorySubscriptions({ clock }),
    rateLimit: options.stores?.rateLimit ?? memoryRateLimit({ clock }),
    reader: algorandPaymentReader(),
    clock,
    stop: drain.stop,
    logger,
    rules,
  }
  const runs = options.stores?.runs ?? memoryRuns(positive('runsCapacity', options.runsCapacity ?? 100))
  const free = freeRoutes({ agent, basePath, facilitatorUrl: facilitators[0].url })
  const app = httpApp({
    charge: createCharge(world, [runs], drain.inFlight),
    endpoints: agent.endpoints,
    basePath,
    freeRoutes: free,
    bodyBytesMax: positive('maxBodyBytes', options.maxBodyBytes ?? DEFAULT_BODY_BYTES_MAX),
    trustProxyHops: options.trustProxy ?? 0,
    cors: options.cors ?? true,
    logger,
  })
  const paid = agent.endpoints.map(({ name, method }) => `${method} ${basePath}/${name}`)
  return {
    app,
    network: agent.network,
    routes: [...paid, ...free.map(({ method, path }) => `${method} ${path}`)],
    close: () => Promise.all([...facilitators, algod, indexer].map(remote => remote?.close())),
  }
}

type Facilitators = readonly [X402Facilitator, ...X402Facilitator[]]

function facilitatorsOf(urls: readonly string[], options: Omit<FacilitatorOptions, 'url'>): Facilitators {
  const [first, ...others] = urls.map(url => x402Facilitator({ ...options, url }))
  if (first === undefined) throw new SvcError('facilitatorUrl names no facilitator', 'invalid_options')
  return [first, ...others]
}

function installSignals(shutdown: (reason: string) => unknown): () => void {
  const onSignal = (signal: string) => void shutdown(signal)
  const signals = ['SIGTERM', 'SIGINT'] as const
  for (const signal of signals) process.on(signal, onSignal)
  return () => {
    for (const signal of signals) process.off(signal, onSignal)
  }
}

function closeServer(server: Server, { outcome }: ShutdownReport): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve())
    if (outcome === 'drained') server.closeIdleConnections()
    else server.closeAllConnections()
  })
}

function sayReady({ port, routes, network }: Ready): void {
  console.log(`listening on port ${port} (${network})\n${routes.map(route => `  ${route}`).join('\n')}`)
}

function exit({ outcome }: ShutdownReport): void {
  process.exit(outcome === 'drained' ? 0 : 1)
}
