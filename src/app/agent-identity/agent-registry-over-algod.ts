/** A registry's public constructor: which applications, read from which node. */
import { nodeClient, sandboxUrl } from '#platform'
import { algorandRegistry } from '../../adapters/algorand/agent-registry.js'
import { ALGOD_TOKEN_HEADER } from '../../adapters/algorand/algod-api.js'
import type { RegistryApps } from '../../domain/agent-registry.js'
import { DEFAULT_ALGOD, type Network } from '../../domain/network.js'
import type { Registry } from '../../ports/agent-registry.js'

/** Which registry, read from which node. */
export interface AlgodRegistryOptions extends RegistryApps {
  /** The application that holds the registered agents. */
  readonly identityApp: number
  /** Which public node is asked where `algodUrl` is not given. @default 'mainnet' */
  readonly network?: Network
  /** The node that is asked. @default in Node the environment variable `SVC_SANDBOX`, else a public node of the network */
  readonly algodUrl?: string
  /** The node's API token. @default none */
  readonly algodToken?: string
}

/**
 * Reads a registry from a node. No request is sent before the first question.
 *
 * @param options Which applications, on which node.
 *
 * @example
 * const registry = algodRegistry({ network: 'testnet', identityApp })
 * const verdict = await verifyAgent('https://agent.example/.well-known/agent.json', { registry })
 */
export function algodRegistry({ network, algodUrl, algodToken, ...apps }: AlgodRegistryOptions): Registry {
  const url = algodUrl ?? sandboxUrl() ?? DEFAULT_ALGOD[network ?? 'mainnet']
  return algorandRegistry({ node: nodeClient({ url, token: algodToken }, ALGOD_TOKEN_HEADER), apps })
}
