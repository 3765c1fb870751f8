/** Reads the responses of a node and of an indexer, field by field. */
import { SdkError, SvcError } from '../../domain/errors.js'
import { isRecord } from '../../domain/x402.js'

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

/** The base URL and the headers of each request. The URL's path is kept; its trailing slashes are dropped. */
export function requestTarget({ url, token }: NodeOptions, tokenHeader: string) {
  const headers = { accept: 'application/json', ...(token ? { [tokenHeader]: token } : {}) }
  return { base: url.replace(/\/+$/, ''), headers }
}

/** `undefined` for 404. @throws SvcError `node_unavailable` for anything but a JSON object. */
export function responseBody(status: number, text: string): Record<string, unknown> | undefined {
  if (status === 404) return undefined
  if (status !== 200) throw unavailable(`status ${status}`)
  const value: unknown = JSON.parse(text)
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

/** A JSON number beyond 2^53 has lost digits already: it is refused, not rounded. */
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
