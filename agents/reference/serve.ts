/** The reference agent as it is deployed: everything it needs to know is in the environment. */

import { isPublicNetwork } from '../../src/domain/network.js'
import { networkFacts } from '../../src/domain/network-definition.js'
import type { RegistryIdentity } from '../../src/domain/registered-agent.js'
import { type Network, networkFrom, SvcError, type SvcServer, serve } from '../../src/index.js'
import { redisStores } from '../../src/redis.js'
import { BASE_PATH, referenceAgent } from './agent.js'
import { type Sources, sourcesOf } from './sources.js'

export interface Environment {
  /** Who is paid; required. */
  readonly SVC_PAY_TO?: string
  /** `mainnet`, `testnet` or a JSON file that defines a network. @default 'mainnet'; 'testnet' on a sandbox, which is one */
  readonly SVC_NETWORK?: string
  /** A sandbox in place of the network: its node, indexer and facilitator. */
  readonly SVC_SANDBOX?: string
  /** State that replicas share. @default this process's memory */
  readonly REDIS_URL?: string
  /** The identity application of the registry that payee-check and search_agents read. @default none is read */
  readonly SVC_IDENTITY_APP?: string
  /** Its reputation application, which search_agents reads. @default none is read */
  readonly SVC_REPUTATION_APP?: string
  /** Its validation application; the card names it. @default none */
  readonly SVC_VALIDATION_APP?: string
  /** This agent's own id in that registry; the card names it. @default none */
  readonly SVC_AGENT_ID?: string
  readonly PORT?: string
}

/** @throws SvcError `invalid_address`, `invalid_network`, `invalid_options` */
export function serveReference(environment: Environment): SvcServer {
  const { SVC_PAY_TO: payTo, REDIS_URL: redisUrl } = environment
  if (!payTo) {
    throw new SvcError('SVC_PAY_TO is missing: set it to the Algorand address to be paid', 'invalid_address')
  }
  const sandboxUrl = environment.SVC_SANDBOX || undefined
  const network = networkFrom(environment.SVC_NETWORK || (sandboxUrl ? 'testnet' : 'mainnet'))
  const registry = registryIn(environment)
  const sources = sourcesOn(network, sandboxUrl, registry)
  const agent = referenceAgent({ payTo, network, sources })
  const stores = redisUrl ? redisStores(redisUrl) : undefined
  return serve(agent, {
    basePath: BASE_PATH,
    registry,
    // A retry with its key gets the answer that was paid for, whatever became of the first connection.
    idempotency: { onLostResponse: 'replay' },
    ...(stores && { stores }),
    onShutdown: async ({ outcome }) => {
      await Promise.allSettled([sources.close(), stores?.close()])
      process.exit(outcome === 'drained' ? 0 : 1)
    },
  })
}

/** On a network of one's own nothing is sold that reads a chain. */
function sourcesOn(
  network: Network,
  sandboxUrl: string | undefined,
  { identityApp }: RegistryIdentity,
): Sources {
  const { key } = networkFacts(network)
  if (!isPublicNetwork(key)) return sourcesOf({ network: 'testnet', sandboxUrl })
  return sourcesOf({ network: key, sandboxUrl, identityApp })
}

function registryIn(environment: Environment): RegistryIdentity {
  const idIn = (name: keyof Environment) => {
    const text = environment[name]
    if (!text) return undefined
    if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
    throw new SvcError(
      `${name} is an id in the registry, a positive whole number, not '${text}'`,
      'invalid_options',
    )
  }
  return {
    agentId: idIn('SVC_AGENT_ID'),
    identityApp: idIn('SVC_IDENTITY_APP'),
    reputationApp: idIn('SVC_REPUTATION_APP'),
    validationApp: idIn('SVC_VALIDATION_APP'),
  }
}
