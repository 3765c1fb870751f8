/** As in Node, over the global fetch. */
import { ALGOD_TOKEN_HEADER } from '../../adapters/algorand/algod-api.js'
import { fetchNodeClient } from '../../adapters/algorand/fetch-node-client.js'
import { algorandRegistry } from '../../adapters/algorand/registry.js'
import { DEFAULT_ALGOD } from '../../domain/network.js'
import type { Registry } from '../../ports/registry.js'
import type { AlgodRegistryOptions } from './algod-registry.js'

/**
 * Reads a registry from a node. Nothing is asked before the first question.
 *
 * @param options Which applications, on which node.
 *
 * @example
 * const registry = algodRegistry({ network: 'testnet', identityApp })
 * const verdict = await verifyAgent('https://agent.example/.well-known/agent.json', { registry })
 */
export function algodRegistry({ network, algodUrl, algodToken, ...apps }: AlgodRegistryOptions): Registry {
  const url = algodUrl ?? DEFAULT_ALGOD[network ?? 'mainnet']
  return algorandRegistry({ node: fetchNodeClient({ url, token: algodToken }, ALGOD_TOKEN_HEADER), apps })
}
