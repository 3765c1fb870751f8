/**
 * Clients of algod and of the indexer, each on kept-alive connections of its own, with JSON responses. A response
 * that is late, too large or malformed throws `node_unavailable`.
 */
import { systemClock } from '../../ports/clock.js'
import { whenUsed } from '../../ports/when-used.js'
import { ALGOD_TOKEN_HEADER, type Algod, algodOver } from './algod-api.js'
import { INDEXER_TOKEN_HEADER, type Indexer, indexerOver } from './indexer-api.js'
import {
  NODE_TIMEOUT_MS,
  type NodeOptions,
  nodeClientOver,
  type PostingNodeClient,
  RESPONSE_BYTES_MAX,
  unavailable,
} from './node-response-reader.js'

export type { AccountState, Algod, AssetHolding, SuggestedParams } from './algod-api.js'
export type { Indexer } from './indexer-api.js'
export {
  bigintIn,
  type NodeClient,
  type NodeOptions,
  textIn,
  uint64In,
  unavailable,
} from './node-response-reader.js'

const CONNECTIONS_MAX = 16

export function algodClient(options: NodeOptions): Algod {
  return algodOver(nodeClient(options, ALGOD_TOKEN_HEADER))
}

export function indexerClient(options: NodeOptions): Indexer {
  return indexerOver(nodeClient(options, INDEXER_TOKEN_HEADER))
}

export function nodeClient(options: NodeOptions, tokenHeader: string): PostingNodeClient {
  const timeout = options.nodeTimeoutMs ?? NODE_TIMEOUT_MS
  // Loading undici takes 0.1 s of CPU. Who asks no node does not load it.
  const undici = whenUsed(async () => {
    const { Agent, request } = await import('undici')
    return { request, dispatcher: new Agent({ connections: CONNECTIONS_MAX, connect: { timeout } }) }
  })
  return nodeClientOver(options, tokenHeader, {
    clock: systemClock,
    ready: undici,
    async send(url, { headers, signal, method, body: posted }) {
      const { request, dispatcher } = await undici()
      const { statusCode, body } = await request(url, { dispatcher, signal, headers, method, body: posted })
      return { status: statusCode, text: await boundedText(body) }
    },
    close: async () => (await undici.used)?.dispatcher.destroy(),
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
