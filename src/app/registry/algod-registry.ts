/** The public way to a registry: which applications, read from which node. */
import { algorandRegistry } from '../../adapters/algorand/registry.js'
import { DEFAULT_ALGOD, type Network } from '../../domain/network.js'
import type { RegistryApps } from '../../domain/registry.js'
import type { Registry } from '../../ports/registry.js'

export interface AlgodRegistryOptions extends RegistryApps {
  readonly identityApp: number
  /** @default 'mainnet'; with `SVC_SANDBOX` set, 'testnet' */
  readonly network?: Network
  /** @default `SVC_SANDBOX`, else a public node of the network */
  readonly algodUrl?: string
  readonly algodToken?: string
}

/**
 * @example
 * const registry = algodRegistry({ network: 'testnet', identityApp })
 * const verdict = await verifyAgent('https://agent.example/.well-known/agent.json', { registry })
 */
export function algodRegistry({ network, algodUrl, algodToken, ...apps }: AlgodRegistryOptions): Registry {
  const sandbox = process.env.SVC_SANDBOX || undefined
  const url = algodUrl ?? sandbox ?? DEFAULT_ALGOD[network ?? 'mainnet']
  return algorandRegistry({ url, token: algodToken, apps })
}
