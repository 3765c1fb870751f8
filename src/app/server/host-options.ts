/** The options of `createHandler` and `serve`, besides those of `createServer`. */
import {
  callable,
  flag,
  invalid,
  type Option,
  optional,
  positive,
  type ReadOptions,
} from '../../domain/options.js'
import type { ShutdownReport } from './drain.js'
import type { ServerOptions } from './server-options.js'

/** The options of {@link createHandler}: those of {@link createServer}, how to stop, and what only the host can say. */
export interface HandlerOptions extends ServerOptions {
  /** How long running calls may take after the handler begins to stop, in milliseconds. @default 30000 */
  readonly shutdownTimeoutMs?: number
  /**
   * The address of a request's caller, for `fetch`, whose requests do not say it. It counts for limits by address.
   *
   * @default what trusted proxies say (`trustProxy`); otherwise all callers share one limit
   *
   * @example
   * clientAddress: request => request.headers.get('cf-connecting-ip') ?? undefined
   */
  readonly clientAddress?: (request: Request) => string | undefined
}

/** The options of {@link serve}: those of {@link createServer}, and how to listen and how to stop. */
export interface ServeOptions extends ServerOptions, Pick<HandlerOptions, 'shutdownTimeoutMs'> {
  /** The port; 0 takes any free port. @default the environment variable `PORT`, else 4021 */
  readonly port?: number
  /** The address to listen on. @default every interface */
  readonly host?: string
  /** How long the headers of a request may take to arrive, in milliseconds. @default 10000 */
  readonly headersTimeout?: number
  /** How long a whole request may take to arrive, in milliseconds; not less than `headersTimeout`. @default 30000 */
  readonly requestTimeout?: number
  /** How many connections may be open at once. More connections are closed without an answer. @default 4096 */
  readonly maxConnections?: number
  /** Drain on SIGTERM and SIGINT. @default true */
  readonly handleSignals?: boolean
  /** Called when the server has stopped. @default exits the process: 0 if it drained, else 1 */
  readonly onShutdown?: (report: ShutdownReport) => void
  /** Called when the server listens. @default prints it on stdout */
  readonly onReady?: (ready: Ready) => void
}

/** The facts about a listening server. */
export interface Ready {
  /** The port that it listens on. */
  readonly port: number
  /** Every route, as a method and a path; free routes at the root and under `basePath`. */
  readonly routes: readonly string[]
  /** The name of the network on which it is paid. */
  readonly network: string
}

export const DEFAULT_PORT = 4021
export const SHUTDOWN_TIMEOUT_DEFAULT_MS = 30_000
const HEADERS_TIMEOUT_DEFAULT_MS = 10_000

const port: Option<number | undefined> = given => {
  if (given === undefined || isPort(given)) return given
  throw invalid(`port is 0 to 65535, not ${String(given)}`)
}

const text: Option<string | undefined> = (given, name) => {
  if (given === undefined || typeof given === 'string') return given
  throw invalid(`${name} is a text`)
}

export const HOST_OPTIONS = {
  shutdownTimeoutMs: positive(SHUTDOWN_TIMEOUT_DEFAULT_MS),
  clientAddress: callable<HandlerOptions['clientAddress']>(),
  port,
  host: text,
  headersTimeout: optional(positive()),
  requestTimeout: positive(30_000),
  maxConnections: positive(4_096),
  handleSignals: flag(true),
  onShutdown: callable<ServeOptions['onShutdown']>(),
  onReady: callable<ServeOptions['onReady']>(),
} satisfies Record<Exclude<keyof HandlerOptions | keyof ServeOptions, keyof ServerOptions>, Option<unknown>>

/** @throws SvcError `invalid_options` */
export function listeningOf(read: ReadOptions<typeof HOST_OPTIONS>) {
  const { requestTimeout, maxConnections } = read
  const { headersTimeout = Math.min(HEADERS_TIMEOUT_DEFAULT_MS, requestTimeout) } = read
  if (headersTimeout > requestTimeout)
    throw invalid(`headersTimeout is at most requestTimeout, ${requestTimeout} ms, not ${headersTimeout}`)
  return { port: read.port ?? portOfEnvironment(), headersTimeout, requestTimeout, maxConnections }
}

/** Read by `serve` alone: a handler in another host's server has nothing to do with it. */
function portOfEnvironment(): number {
  const chosen = process.env.PORT ? Number(process.env.PORT) : DEFAULT_PORT
  if (isPort(chosen)) return chosen
  throw invalid(`port is 0 to 65535, not ${process.env.PORT}`)
}

function isPort(port: unknown): port is number {
  return Number.isInteger(port) && (port as number) >= 0 && (port as number) <= 65_535
}
