/**
 * Clients of algod and of the indexer, each on kept-alive connections of its own, with JSON responses. A response
 * that is late, too large or malformed throws `node_unavailable`.
 */
import { systemClock } from '../../ports/clock.js'
import { DispatchedExchange, type ExchangeRules } from '../../ports/dispatched-exchange.js'
import { whenUsed } from '../../ports/when-used.js'
import { ALGOD_TOKEN_HEADER, type Algod, algodOver } from './algod-api.js'
import { INDEXER_TOKEN_HEADER, type Indexer, indexerOver } from './indexer-api.js'
import {
  NODE_TIMEOUT_MS,
  type NodeOptions,
  type NodeResponse,
  nodeClientOver,
  type PostingNodeClient,
  RESPONSE_BYTES_MAX,
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

const READING: ExchangeRules<NodeResponse | Error> = {
  whole: (status, text) => ({ status, text }),
  failed: cause => cause,
}

export function algodClient(options: NodeOptions): Algod {
  return algodOver(nodeClient(options, ALGOD_TOKEN_HEADER))
}

export function indexerClient(options: NodeOptions): Indexer {
  return indexerOver(nodeClient(options, INDEXER_TOKEN_HEADER))
}

export function nodeClient(options: NodeOptions, tokenHeader: string): PostingNodeClient {
  // Loading undici takes 0.1 s of CPU. Who asks no node does not load it.
  const agent = whenUsed(async () => {
    const { Agent } = await import('undici')
    return new Agent({
      connections: CONNECTIONS_MAX,
      connect: { timeout: options.nodeTimeoutMs ?? NODE_TIMEOUT_MS },
      maxResponseSize: RESPONSE_BYTES_MAX,
      // The limit of each exchange covers both.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  })
  return nodeClientOver(options, tokenHeader, {
    clock: systemClock,
    async send(url, { method = 'GET', headers, body }, { clock, timeoutMs }) {
      // First: on a busy machine the loading took most of the time that the node has.
      const loaded = await agent()
      const exchange = new DispatchedExchange(clock, timeoutMs, READING)
      try {
        const { origin, pathname, search } = new URL(url)
        loaded.dispatch({ origin, path: pathname + search, method, headers, body }, exchange)
      } catch (error) {
        exchange.fail(error as Error)
      }
      const answer = await exchange.answered
      if (answer instanceof Error) throw answer
      return answer
    },
    close: async () => (await agent.used)?.destroy(),
  })
}
