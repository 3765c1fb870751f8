/**
 * GET and JSON over kept-alive connections, for nodes and indexers. A response that is late, too large or malformed throws
 * `node_unavailable`.
 */
import { Agent, request } from 'undici'
import { systemClock } from '../../ports/clock.js'
import { deadline } from '../../ports/waiting.js'
import {
  NODE_TIMEOUT_MS,
  type NodeClient,
  type NodeOptions,
  RESPONSE_BYTES_MAX,
  requestTarget,
  requireFound,
  responseBody,
  unavailable,
  unavailableBy,
} from './node-response.js'

export { bigintIn, type NodeClient, type NodeOptions, textIn, unavailable } from './node-response.js'

const CONNECTIONS_MAX = 16

export function nodeClient(options: NodeOptions, tokenHeader: string): NodeClient {
  const timeoutMs = options.nodeTimeoutMs ?? NODE_TIMEOUT_MS
  const { base, headers } = requestTarget(options, tokenHeader)
  const dispatcher = new Agent({ connections: CONNECTIONS_MAX, connect: { timeout: timeoutMs } })

  async function find(path: string): Promise<Record<string, unknown> | undefined> {
    const { signal, clear } = deadline(systemClock, timeoutMs)
    try {
      const { statusCode, body } = await request(base + path, { dispatcher, signal, headers })
      return responseBody(statusCode, await boundedText(body))
    } catch (error) {
      throw unavailableBy(error)
    } finally {
      clear()
    }
  }

  return { find, get: path => requireFound(find(path)), close: () => dispatcher.destroy() }
}

async function boundedText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > RESPONSE_BYTES_MAX) throw unavailable(`an answer of more than ${RESPONSE_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
