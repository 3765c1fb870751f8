/** A registry's public constructor: which applications, read from which node. */
import { sandboxUrl } from '#platform'
import { nodeClient } from '../adapters/algorand/node-response-reader.js'
import type { Settings } from '../app/server/settings-from-options.js'
import { SdkError } from '../domain/errors.js'
import type { Network } from '../domain/network.js'
import { networkFacts, nodeUrls } from '../domain/network-definition.js'
import { refuseUnknown } from '../domain/option-checks.js'
import type { RegistryApps } from '../domain/registered-agent.js'
import type { Registry } from '../ports/agent-registry.js'
import type { MakeExchange } from '../ports/exchange.js'
import { algorandRegistry } from './algorand-registry.js'

/** Which registry, read from which node. */
export interface AlgodRegistryOptions extends RegistryApps {
  /** The application that holds the registered agents. */
  readonly identityApp: number
  /** The network whose node is asked where `algodUrl` is not given. @default 'mainnet' */
  readonly network?: Network
  /** The node that is asked. @default in Node the environment variable `SVC_SANDBOX`, else the network's: its definition's, or a public one */
  readonly algodUrl?: string
  /** The node's API token. @default none */
  readonly algodToken?: string
}

const OPTIONS: readonly (keyof AlgodRegistryOptions)[] = [
  ...(['identityApp', 'reputationApp', 'validationApp', 'network', 'algodUrl', 'algodToken'] as const),
]

/**
 * Reads a registry from a node. No request is sent before the first question.
 *
 * @param options Which applications, on which node.
 * @throws SvcError `invalid_options`
 *
 * @example
 * const registry = algodRegistry({ network: 'testnet', identityApp })
 * const verdict = await verifyAgent('https://agent.example/.well-known/agent.json', { registry })
 */
export function algodRegistry(options: AlgodRegistryOptions): Registry {
  refuseUnknown(options, OPTIONS, '', invalid)
  const { network = 'mainnet', algodUrl: _, algodToken: __, ...apps } = options
  const facts = networkFacts(network, invalid)
  const { algodUrl: url, algodToken: token } = nodeUrls(facts, options, sandboxUrl())
  if (url === undefined) return invalid(`there is no algodUrl for ${facts.name}: give one`)
  return algorandRegistry({ node: nodeClient({ url, token }), apps })
}

function invalid(why: string): never {
  throw new SdkError(`algodRegistry: ${why}`, 'invalid_options')
}

/** The registry that a server's settings name. Its server closes it. */
export function registryOf(
  { registry, algodUrl, algodToken }: Settings,
  exchange: MakeExchange,
): Registry | undefined {
  const { identityApp } = registry
  if (identityApp === undefined) return undefined
  const node = nodeClient({ url: algodUrl, token: algodToken, exchange })
  return algorandRegistry({ node, apps: { ...registry, identityApp } })
}
