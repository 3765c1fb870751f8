/** Clients of a node and of an indexer: GET requests with a deadline, and JSON responses that are read field by field. */
import { SdkError, SvcError } from '../../domain/errors.js'
import { isRecord } from '../../domain/x402.js'
import type { Clock } from '../../ports/clock.js'
import { deadline } from '../../ports/timeouts-and-aborts.js'

export interface NodeOptions {
  readonly url: string
  readonly token?: string
  /** For a whole response, connecting included. */
  readonly nodeTimeoutMs?: number
}

export interface NodeClient {
  get(path: string): Promise<Record<string, unknown>>
  /** As `get`, but 404 is `undefined`. */
  find(path: string): Promise<Record<string, unknown> | undefined>
  close(): Promise<void>
}

export const NODE_TIMEOUT_MS = 2_000

/** A full block of 50 000 transactions lists 3 MB of ids. */
export const RESPONSE_BYTES_MAX = 8 * 1024 * 1024

/** How one runtime sends a GET request, and whose clock ends it. */
export interface NodeTransport {
  readonly clock: Pick<Clock, 'after'>
  send(url: string, request: NodeRequest): Promise<{ readonly status: number; readonly text: string }>
  close(): Promise<void>
}

export interface NodeRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** A client over `transport`. The base URL's path is kept; its trailing slashes are dropped. */
export function nodeClientOver(
  { url, token, nodeTimeoutMs = NODE_TIMEOUT_MS }: NodeOptions,
  tokenHeader: string,
  { clock, send, close }: NodeTransport,
): NodeClient {
  const base = url.replace(/\/+$/, '')
  const headers = { accept: 'application/json', ...(token ? { [tokenHeader]: token } : {}) }

  async function find(path: string): Promise<Record<string, unknown> | undefined> {
    const { signal, clear } = deadline(clock, nodeTimeoutMs)
    try {
      const { status, text } = await send(base + path, { headers, signal })
      return responseBody(status, text)
    } catch (error) {
      throw unavailableBy(error)
    } finally {
      clear()
    }
  }

  return { find, get: path => requireFound(find(path)), close }
}

/** `undefined` for 404. @throws SvcError `node_unavailable` for anything but a JSON object. */
export function responseBody(status: number, text: string): Record<string, unknown> | undefined {
  if (status === 404) return undefined
  if (status !== 200) throw unavailable(`status ${status}`)
  const value: unknown = JSON.parse(withLongIntegersQuoted(text))
  if (!isRecord(value)) throw unavailable('the answer is no JSON object')
  return value
}

/** @throws SvcError `node_unavailable`, for 404 as well. */
export async function requireFound(
  found: Promise<Record<string, unknown> | undefined>,
): Promise<Record<string, unknown>> {
  const body = await found
  if (!body) throw unavailable('status 404')
  return body
}

/** Turns any error into `node_unavailable`, the only one that callers handle. */
export function unavailableBy(error: unknown): SvcError {
  if (error instanceof SvcError) return error
  return unavailable(error instanceof Error ? error.message : String(error))
}

/** A string, or an integer of 16 digits or more. */
const STRING_OR_LONG_INTEGER = /"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])\d{16,}(?![\d.eE])/g

/** `JSON.parse` rounds integers beyond 2^53, and balances of 64 bits may be larger. */
function withLongIntegersQuoted(json: string): string {
  if (!/\d{16}/.test(json)) return json
  return json.replace(STRING_OR_LONG_INTEGER, found => (found[0] === '"' ? found : `"${found}"`))
}

const UINT64_MAX = 2n ** 64n - 1n

/** For an amount, which has 64 bits. */
export function uint64In(body: Record<string, unknown>, key: string): bigint {
  const value = body[key]
  const isLong = typeof value === 'string' && /^\d{16,20}$/.test(value)
  if (isLong && BigInt(value) <= UINT64_MAX) return BigInt(value)
  return bigintIn(body, key)
}

/** For what no network comes near 2^53 of, such as rounds. */
export function bigintIn(body: Record<string, unknown>, key: string): bigint {
  const value = body[key]
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  throw unavailable(`${key} is no whole number`)
}

export function textIn(body: Record<string, unknown>, key: string): string {
  const value = body[key]
  if (typeof value === 'string') return value
  throw unavailable(`${key} is no text`)
}

export function unavailable(why: string): SvcError {
  return new SdkError(`The Algorand node gave no usable answer: ${why}`, 'node_unavailable', 503)
}
