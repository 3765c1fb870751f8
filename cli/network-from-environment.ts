import { networkFrom } from '../src/app/server/network-from.js'
import type { Network, NetworkFacts } from '../src/domain/network.js'
import { networkFacts } from '../src/domain/network-definition.js'

/** @throws SvcError `invalid_network` */
export function networkFromEnvironment(): Network {
  return networkFrom(process.env.SVC_NETWORK)
}

/**
 * For commands that work on a sandbox, also where nothing in the environment names it.
 *
 * @throws SvcError `invalid_network`
 */
export function networkFromSandbox(): Network {
  return networkFrom(process.env.SVC_NETWORK || 'testnet')
}

/** For the names of what is shown: a variable that is wrong must not hide it. */
export function ownNetworkIfAny(): NetworkFacts | undefined {
  try {
    return networkFacts(networkFromEnvironment())
  } catch {
    return undefined
  }
}
