/** What `serve` can be told of listening and ending, and what it assumes where it is told nothing. */
import type { Network } from '../../domain/network.js'
import type { ShutdownReport } from './drain.js'
import { invalid, positive, type ServerOptions } from './options.js'

/** What {@link serve} can be told: all that {@link createServer} can, and how to listen and how to end. */
export interface ServeOptions extends ServerOptions {
  /** 0 takes any that is free. @default the environment variable `PORT`, else 4021 */
  readonly port?: number
  /** The address to listen on. @default every interface */
  readonly host?: string
  /** How long the headers of a request may take to arrive, in milliseconds. @default 10000 */
  readonly headersTimeout?: number
  /** How long a whole request may take to arrive, in milliseconds; not less than `headersTimeout`. @default 30000 */
  readonly requestTimeout?: number
  /** How many connections are kept open at once; more are closed unanswered. @default 4096 */
  readonly maxConnections?: number
  /** How long calls in flight may take once the server is told to stop, in milliseconds. @default 30000 */
  readonly shutdownTimeoutMs?: number
  /** Drain on SIGTERM and SIGINT. @default true */
  readonly handleSignals?: boolean
  /** Called when the server has ended. @default exits the process: 0 where it was drained, else 1 */
  readonly onShutdown?: (report: ShutdownReport) => void
  /** Called when the server listens. @default says so on stdout */
  readonly onReady?: (ready: Ready) => void
}

/** What a server that listens says of itself. */
export interface Ready {
  /** The port that it listens on. */
  readonly port: number
  /** Every path that answers, each as a method and a path; the free ones at the root and under `basePath`. */
  readonly routes: readonly string[]
  /** Where it is paid. */
  readonly network: Network
}

export const DEFAULT_PORT = 4021
export const DEFAULT_SHUTDOWN_TIMEOUT_MS = 30_000

/** @throws SvcError `invalid_options` where `port` is no port; 0 takes any that is free. */
export function checkedPort(port: number | undefined): number {
  const chosen = port ?? (process.env.PORT ? Number(process.env.PORT) : DEFAULT_PORT)
  if (Number.isInteger(chosen) && chosen >= 0 && chosen <= 65_535) return chosen
  throw invalid(`port is 0 to 65535, not ${String(port ?? process.env.PORT)}`)
}

const HEADERS_TIMEOUT_DEFAULT_MS = 10_000
const REQUEST_TIMEOUT_DEFAULT_MS = 30_000
const CONNECTIONS_DEFAULT_MAX = 4_096

/** How long callers may take, and how many there may be. @throws SvcError `invalid_options` */
export function checkedPatience(options: ServeOptions) {
  const requestTimeout = positive('requestTimeout', options.requestTimeout ?? REQUEST_TIMEOUT_DEFAULT_MS)
  const headersTimeout = positive(
    'headersTimeout',
    options.headersTimeout ?? Math.min(HEADERS_TIMEOUT_DEFAULT_MS, requestTimeout),
  )
  const maxConnections = positive('maxConnections', options.maxConnections ?? CONNECTIONS_DEFAULT_MAX)
  if (headersTimeout <= requestTimeout) return { headersTimeout, requestTimeout, maxConnections }
  throw invalid(`headersTimeout is at most requestTimeout, ${requestTimeout} ms, not ${headersTimeout}`)
}
