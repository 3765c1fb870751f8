/**
 * GET and JSON over kept-alive connections, for nodes and indexers. A response that is late, too large or malformed throws
 * `node_unavailable`.
 */
import { Agent, request } from 'undici'
import { systemClock } from '../../ports/clock.js'
import {
  NODE_TIMEOUT_MS,
  type NodeClient,
  type NodeOptions,
  nodeClientOver,
  RESPONSE_BYTES_MAX,
  unavailable,
} from './node-requests.js'

export { bigintIn, type NodeClient, type NodeOptions, textIn, unavailable } from './node-requests.js'

const CONNECTIONS_MAX = 16

export function nodeClient(options: NodeOptions, tokenHeader: string): NodeClient {
  const timeout = options.nodeTimeoutMs ?? NODE_TIMEOUT_MS
  const dispatcher = new Agent({ connections: CONNECTIONS_MAX, connect: { timeout } })
  return nodeClientOver(options, tokenHeader, {
    clock: systemClock,
    async send(url, { headers, signal }) {
      const { statusCode, body } = await request(url, { dispatcher, signal, headers })
      return { status: statusCode, text: await boundedText(body) }
    },
    close: () => dispatcher.destroy(),
  })
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
