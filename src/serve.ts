/** `serve`, and the same agent for a host of one's own. */
import { createServer as createHttpServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { endingInOneLine } from '#platform'
import type { Koa } from './adapters/http/koa-request.js'
import { errorBody } from './adapters/http/reply.js'
import { atStart, defineEndpoint, defineGate } from './app/define-agent.js'
import { type AgentHandler, handlerParts } from './app/server/create-handler.js'
import type { ShutdownReport } from './app/server/drain.js'
import {
  type HandlerOptions,
  listeningOf,
  type Ready,
  type ServeOptions,
  type ServerOptions,
} from './app/server/options/server-options.js'
import { settingsOf } from './app/server/options/server-settings.js'
import type { BesideTheCore } from './app/server/server-environment.js'
import { auditOf } from './audit/set-up-observers.js'
import type { AgentDef, AgentOptions } from './domain/agent.js'
import { SvcError, shown } from './domain/errors.js'
import { gateOver } from './gate/express-fastify-koa-hono.js'
import type { Gate } from './gate/gate-types.js'
import { every, systemClock } from './ports/clock.js'
import { registryOf } from './registry/read-registry.js'

/** @param names of the endpoints in the seller's books, by default the agent's */
export const besideOf = (names?: readonly string[]): BesideTheCore => ({
  audit: (settings, inFlight) => auditOf(settings, inFlight, names),
  registry: registryOf,
})

const parts = (
  agent: AgentDef,
  options: HandlerOptions | ServeOptions,
  entry: (...given: never) => unknown,
  names?: readonly string[],
) =>
  atStart(() => {
    const settings = settingsOf(agent, options)
    return { settings, ...handlerParts(settings, besideOf(names)) }
  }, entry)

/** Node's HTTP server, with a shutdown that loses no paid call. */
export interface SvcServer extends Server {
  /**
   * Stops accepting calls, waits for running calls, cuts calls that outlast `shutdownTimeoutMs`, then closes. A
   * second call of `shutdown` cuts at once.
   */
  shutdown(reason?: string): Promise<ShutdownReport>
  /** Stops listening for SIGTERM and SIGINT. */
  uninstallSignals(): void
}

/**
 * Makes an agent for a host of your own. {@link serve} is this and a server of Node. Does not wait for the network.
 *
 * @example
 * const handler = createHandler(agent, { basePath: '/paid' })
 * const answer = await handler.fetch(new Request('https://agent.example/paid/work', { method: 'POST' }))
 *
 * @throws SvcError `invalid_options`, `invalid_address`, `invalid_facilitator`
 */
export function createHandler(agent: AgentDef, options: HandlerOptions = {}): AgentHandler {
  const { fetch, node, koa, shutdown } = parts(agent, options, createHandler)
  return { fetch, node, koa, shutdown: reason => shutdown(reason) }
}

/** The definition of an agent whose endpoints are routes of an app: they register themselves. */
export type GateDefinition = Omit<AgentOptions, 'endpoints'>

/** The options of {@link createGate}. A gate is at its app's own paths, and messages of A2A and MCP cannot run an app's route. */
export type GateOptions = Omit<HandlerOptions, 'basePath'>

/**
 * Makes a gate: middleware that puts a price before routes of an app that exists. What a route answers below status 400 is sold.
 *
 * @example
 * const gate = createGate({ name: 'Items', handle: 'items', description: 'Sells items.', payTo: 'SELLER_ADDRESS' })
 * const terms = { path: '/items/:id', methods: 'GET', price: '$0.01' } as const
 * const GET = gate.fetch(terms, (_, { params }) => Response.json({ id: params.id }))
 *
 * @throws SvcError `invalid_agent`, `invalid_options` and what {@link createHandler} throws
 */
export function createGate(definition: GateDefinition, options: GateOptions = {}): Gate {
  return atStart(() => {
    if ('endpoints' in definition)
      throw new SvcError('A gate has no endpoints: its routes register themselves', 'invalid_agent')
    if ('basePath' in options)
      throw new SvcError('A gate has no basePath: its routes have the paths of their app', 'invalid_options')
    const agent = defineGate(definition)
    const endpoints = [...agent.endpoints]
    const doors = { ...options.doors, a2a: false, mcp: false }
    const { settings, ...gated } = parts({ ...agent, endpoints }, { ...options, doors }, createGate, [])
    return gateOver(gated, settings, endpoints, defineEndpoint as never)
  }, createGate)
}

/**
 * Makes the configured Koa app without listening. Mount it in another app, or give it to your own HTTP server;
 * `serve` also listens and drains. Does not wait for the network. TypeScript knows its type where `@types/koa` is installed.
 *
 * @example
 * createServer(agent).listen(4021)
 *
 * @throws SvcError `invalid_options`, `invalid_address`, `invalid_facilitator`
 */
export function createServer(agent: AgentDef, options: ServerOptions = {}): Koa {
  return parts(agent, options, createServer).app
}

/**
 * Serves an agent over HTTP: listens at once, drains on SIGTERM and SIGINT.
 *
 * @example
 * serve(agent, { port: 4021 })
 *
 * @throws SvcError `invalid_options`, `invalid_address`, `invalid_facilitator`
 */
export function serve(agent: AgentDef, options: ServeOptions = {}): SvcServer {
  return listening(parts(agent, options, serve), options)
}

type Served = Pick<ReturnType<typeof parts>, 'settings' | 'node' | 'routes' | 'network' | 'shutdown'>

export function listening(
  { settings, node, routes, network, shutdown: drain }: Served,
  options: ServeOptions,
): SvcServer {
  const { onReady = sayReady, onShutdown = exit, handleSignals, host } = settings
  const { port, maxConnections, ...timeouts } = listeningOf(settings)
  const server = createHttpServer(
    { ...timeouts, connectionsCheckingInterval: TIMEOUTS_CHECKED_MS },
    (req, res) => node(req, res),
  )
  server.maxConnections = maxConnections
  answerUnparsableRequests(server)
  let chosen = port
  server.on('error', function failed(cause: NodeJS.ErrnoException) {
    if (cause.code === 'EADDRINUSE' && mayMove(options) && chosen++ < port + PORTS_TRIED)
      server.listen(chosen, host)
    else if (server.listenerCount('error') === 1) {
      if (cause.code === 'EADDRINUSE')
        cause.message = `Port ${port} is in use: name another (PORT, or the option port)`
      throw endingInOneLine(cause, failed)
    }
  })
  server.listen(port, host, () => {
    if (chosen !== port) settings.warn(`Port ${port} is in use: listening on ${chosen}`)
    const ready = onReady({ port: (server.address() as AddressInfo).port, routes, network })
    // It may take its time, and its rejection would end the process with the calls at work.
    Promise.resolve(ready).catch((err: unknown) =>
      settings.warn(`onReady failed: ${err instanceof Error ? err.message : shown(err)}`, { err }),
    )
  })
  let report: Promise<ShutdownReport> | undefined
  const shutdown = (reason?: string) => {
    const drained = drain(reason, ended => closeServer(server, ended))
    report ??= drained.then(ended => {
      uninstallSignals()
      onShutdown(ended)
      return ended
    })
    return report
  }
  const uninstallSignals = handleSignals ? installSignals(shutdown) : () => {}
  return Object.assign(server, { shutdown, uninstallSignals })
}

const REFUSALS: Readonly<Record<string, readonly [line: string, code: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'headers_too_large',
    'The headers are larger than 16 KiB together.',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'request_timeout', 'The request did not arrive in time.'],
}

/** How long the sender has to read the refusal. */
const LINGER_MS = 1_000

const MALFORMED = ['400 Bad Request', 'bad_request', 'This is not an HTTP request that can be read.'] as const

/** Answers requests that Node's parser refuses, in the same JSON as every other error. */
function answerUnparsableRequests(server: Server): void {
  server.on('clientError', (cause: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || cause.code === 'ECONNRESET') return void socket.destroy()
    // A caller that does not close its own side would keep the connection, and the memory of all that it sent.
    systemClock.after(LINGER_MS, () => socket.destroy())
    const [line, code, message] = REFUSALS[cause.code ?? ''] ?? MALFORMED
    const body = JSON.stringify(errorBody(code, message))
    socket.end(
      `HTTP/1.1 ${line}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    )
  })
}

const PORTS_TRIED = 100

/** Under `svc dev`, where nobody named a port, any will do. */
function mayMove({ port }: ServeOptions): boolean {
  return port === undefined && !process.env.PORT && process.env.SVC_DEV === '1'
}

/** How late Node may notice a timeout. By default it checks every 30 s: as long as a whole request may take. */
const TIMEOUTS_CHECKED_MS = 1_000

function installSignals(shutdown: (reason: string) => unknown): () => void {
  const onSignal = (signal: string) => void shutdown(signal)
  const signals = ['SIGTERM', 'SIGINT'] as const
  for (const signal of signals) process.on(signal, onSignal)
  return () => {
    for (const signal of signals) process.off(signal, onSignal)
  }
}

/** A drained call's answer is still being written. Its connection becomes idle a moment later, and would be kept alive. */
const IDLE_SWEEP_MS = 20
/** How long callers have to read their last answer, and callers of cut calls to read their 503. */
const ANSWERS_MS = 10_000
const CUT_ANSWERS_MS = 500

function closeServer(server: Server, { outcome }: ShutdownReport): Promise<void> {
  return new Promise(resolve => {
    // These connections use the machine's time, whatever clock the calls use.
    const stopSweeping = every(systemClock, IDLE_SWEEP_MS, () => server.closeIdleConnections())
    const answersMs = outcome === 'timedOut' ? CUT_ANSWERS_MS : ANSWERS_MS
    const stopCut = systemClock.after(answersMs, () => server.closeAllConnections())
    server.close(() => {
      stopSweeping()
      stopCut()
      resolve()
    })
  })
}

function sayReady({ port, routes, network }: Ready): void {
  // `svc dev` lists what is sold, and does so once.
  const listed = process.env.SVC_DEV === '1' ? [] : routes
  console.log([`listening on port ${port} (${network})`, ...listed.map(route => `  ${route}`)].join('\n'))
}

function exit({ outcome }: ShutdownReport): void {
  process.exit(outcome === 'drained' ? 0 : 1)
}
