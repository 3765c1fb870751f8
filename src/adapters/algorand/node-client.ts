/**
 * GET and JSON over kept-alive connections, for nodes and indexers. Whatever is not a well-formed answer in time, of a
 * sane size, is thrown as `node_unavailable`.
 */
import { Agent, request } from 'undici'
import { SvcError } from '../../domain/errors.js'
import { isRecord } from '../../domain/x402.js'

export interface NodeOptions {
  readonly url: string
  readonly token?: string
  /** For a whole answer, connecting included. */
  readonly nodeTimeoutMs?: number
}

const NODE_TIMEOUT_MS = 2_000
/** A full block of 50 000 transactions lists 3 MB of ids. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024
const CONNECTIONS_MAX = 16

export interface NodeClient {
  get(path: string): Promise<Record<string, unknown>>
  /** As `get`, but 404 is `undefined`. */
  find(path: string): Promise<Record<string, unknown> | undefined>
  close(): Promise<void>
}

/** The base URL's path is kept, and its trailing slashes are not. */
export function nodeClient(options: NodeOptions, tokenHeader: string): NodeClient {
  const timeoutMs = options.nodeTimeoutMs ?? NODE_TIMEOUT_MS
  const base = options.url.replace(/\/+$/, '')
  const headers = { accept: 'application/json', ...(options.token ? { [tokenHeader]: options.token } : {}) }
  const dispatcher = new Agent({ connections: CONNECTIONS_MAX, connect: { timeout: timeoutMs } })

  async function find(path: string): Promise<Record<string, unknown> | undefined> {
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const { statusCode, body } = await request(base + path, { dispatcher, signal, headers })
      const text = await boundedText(body)
      if (statusCode === 404) return undefined
      if (statusCode !== 200) throw unavailable(`status ${statusCode}`)
      const value: unknown = JSON.parse(text)
      if (!isRecord(value)) throw unavailable('the answer is no JSON object')
      return value
    } catch (error) {
      throw error instanceof SvcError
        ? error
        : unavailable(error instanceof Error ? error.message : String(error))
    }
  }

  return {
    find,
    async get(path) {
      const body = await find(path)
      if (!body) throw unavailable('status 404')
      return body
    },
    close: () => dispatcher.destroy(),
  }
}

async function boundedText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > ANSWER_BYTES_MAX) throw unavailable(`an answer of more than ${ANSWER_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
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
  return new SvcError(`The Algorand node gave no usable answer: ${why}`, 'node_unavailable', 503)
}
