/** Clients of a node and of an indexer: requests with a deadline, and JSON responses that are read field by field. */
import { exchangeTo } from '#platform'
import { SdkError, SvcError } from '../../domain/errors.js'
import { BASE_UNITS_MAX } from '../../domain/money.js'
import { isRecord } from '../../domain/x402.js'
import type { Clock } from '../../ports/clock.js'
import type { MakeExchange } from '../../ports/exchange.js'

export interface NodeOptions {
  readonly url: string
  readonly token?: string
  readonly nodeTimeoutMs?: number
  /** Ends late responses. @default the system's */
  readonly clock?: Pick<Clock, 'after'>
  /** @default HTTP */
  readonly exchange?: MakeExchange
}

export interface NodeClient {
  get(path: string): Promise<Record<string, unknown>>
  /** As `get`, but 404 is `undefined`. */
  find(path: string): Promise<Record<string, unknown> | undefined>
  close(): Promise<void>
}

/** A client that can also post, and that tells a node's refusal from an outage. */
export interface PostingNodeClient extends NodeClient {
  /** Of a status of 400 or 404 a node's own `{message}` is an answer. A POST that throws may have been carried out nevertheless. */
  ask(path: string, request?: NodeQuestion): Promise<NodeReply>
}

export interface NodeQuestion {
  readonly body?: Uint8Array
  /** For this response alone. */
  readonly timeoutMs?: number
}

export type NodeReply =
  | { readonly status: 200; readonly body: Record<string, unknown> }
  | { readonly status: 400; readonly message: string }
  | { readonly status: 404; readonly message: string }

const TIMEOUT_MS = 2_000
const CONNECTIONS_MAX = 16

/** A full block of 50 000 transactions lists 3 MB of ids. */
const RESPONSE_BYTES_MAX = 8 * 1024 * 1024

export const INDEXER_TOKEN_HEADER = 'X-Indexer-API-Token'

export function nodeClient(
  { url, token, nodeTimeoutMs = TIMEOUT_MS, clock, exchange = exchangeTo }: NodeOptions,
  tokenHeader = 'X-Algo-API-Token',
): PostingNodeClient {
  const node = exchange(url, { connectionsMax: CONNECTIONS_MAX, bytesMax: RESPONSE_BYTES_MAX, clock })
  const headers = { accept: 'application/json', ...(token ? { [tokenHeader]: token } : {}) }
  const postHeaders = { ...headers, 'content-type': 'application/msgpack' }

  async function asked<T>(
    path: string,
    { body, timeoutMs = nodeTimeoutMs }: NodeQuestion,
    read: (status: number, text: string) => T,
  ): Promise<T> {
    const reply = await node.send({
      ...(body
        ? { method: 'POST', headers: postHeaders, body: new Uint8Array(body) }
        : { method: 'GET', headers }),
      path,
      timeoutMs,
    })
    if ('failed' in reply) throw unavailable(reply.failed)
    try {
      return read(reply.status, reply.text)
    } catch (error) {
      // Text that is not JSON.
      throw error instanceof SvcError ? error : unavailable((error as Error).message)
    }
  }

  const find = (path: string) => asked(path, {}, responseBody)
  return {
    find,
    async get(path) {
      const body = await find(path)
      if (!body) throw unavailable('status 404')
      return body
    },
    ask: (path, question = {}) => asked(path, question, replyIn),
    close: () => node.destroy(),
  }
}

function replyIn(status: number, text: string): NodeReply {
  if (status !== 400 && status !== 404) return { status: 200, body: responseBody(status, text)! }
  // A proxy's error page is no answer of a node.
  const value: unknown = JSON.parse(text)
  if (isRecord(value) && typeof value.message === 'string') return { status, message: value.message }
  throw unavailable(`status ${status}`)
}

/** `undefined` for 404. @throws SvcError `node_unavailable` for anything but a JSON object. */
export function responseBody(status: number, text: string): Record<string, unknown> | undefined {
  if (status === 404) return undefined
  if (status !== 200) throw unavailable(`status ${status}`)
  const value: unknown = JSON.parse(withLongIntegersQuoted(text))
  if (!isRecord(value)) throw unavailable('the answer is no JSON object')
  return value
}

/** A string, or an integer of 16 digits or more. A string may lack its end: else each quote in it would be tried as a beginning. */
const STRING_OR_LONG_INTEGER = /"(?:[^"\\]|\\.)*(?:"|$)|(?<![\d.eE+-])\d{16,}(?![\d.eE])/gs

/** `JSON.parse` rounds integers beyond 2^53, and balances of 64 bits may be larger. */
function withLongIntegersQuoted(json: string): string {
  if (!/\d{16}/.test(json)) return json
  return json.replace(STRING_OR_LONG_INTEGER, found => (found[0] === '"' ? found : `"${found}"`))
}

/** For an amount, which has 64 bits. */
export function uint64In(body: Record<string, unknown>, key: string): bigint {
  const value = body[key]
  const isLong = typeof value === 'string' && /^\d{16,20}$/.test(value)
  if (isLong && BigInt(value) <= BASE_UNITS_MAX) return BigInt(value)
  return bigintIn(body, key)
}

/** For numbers that stay far below 2^53, such as rounds. */
export function bigintIn(body: Record<string, unknown>, key: string): bigint {
  const value = body[key]
  if (Number.isSafeInteger(value) && (value as number) >= 0) return BigInt(value as number)
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
