/** The options of `serve` alone, read once: the address, and the timeouts for callers. */

import type { HandlerOptions, ServeOptions } from './host-options.js'
import { invalid, positive } from './option-checks.js'

export const DEFAULT_PORT = 4021
export const SHUTDOWN_TIMEOUT_DEFAULT_MS = 30_000

const HEADERS_TIMEOUT_DEFAULT_MS = 10_000
const REQUEST_TIMEOUT_DEFAULT_MS = 30_000
const CONNECTIONS_DEFAULT_MAX = 4_096

export interface Listening {
  readonly port: number
  readonly headersTimeout: number
  readonly requestTimeout: number
  readonly maxConnections: number
}

/** @throws SvcError `invalid_options` */
export function listeningOf(options: ServeOptions): Listening {
  const requestTimeout = positive('requestTimeout', options.requestTimeout ?? REQUEST_TIMEOUT_DEFAULT_MS)
  const headersTimeout = positive(
    'headersTimeout',
    options.headersTimeout ?? Math.min(HEADERS_TIMEOUT_DEFAULT_MS, requestTimeout),
  )
  if (headersTimeout > requestTimeout)
    throw invalid(`headersTimeout is at most requestTimeout, ${requestTimeout} ms, not ${headersTimeout}`)
  return {
    port: portOf(options.port),
    headersTimeout,
    requestTimeout,
    maxConnections: positive('maxConnections', options.maxConnections ?? CONNECTIONS_DEFAULT_MAX),
  }
}

/** @throws SvcError `invalid_options` */
export function shutdownTimeoutOf({
  shutdownTimeoutMs = SHUTDOWN_TIMEOUT_DEFAULT_MS,
}: HandlerOptions): number {
  return positive('shutdownTimeoutMs', shutdownTimeoutMs)
}

/** 0 takes any free port. */
function portOf(port: number | undefined): number {
  const chosen = port ?? (process.env.PORT ? Number(process.env.PORT) : DEFAULT_PORT)
  if (Number.isInteger(chosen) && chosen >= 0 && chosen <= 65_535) return chosen
  throw invalid(`port is 0 to 65535, not ${String(port ?? process.env.PORT)}`)
}
