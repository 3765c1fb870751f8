import { SvcError } from '../src/domain/errors.js'
import { isNetwork, type Network } from '../src/domain/network.js'

/** @throws SvcError `invalid_network` */
export function networkFromEnvironment(): Network {
  const { SVC_NETWORK: named, SVC_SANDBOX: sandbox } = process.env
  if (!named) return sandbox ? 'testnet' : 'mainnet'
  if (isNetwork(named)) return named
  throw new SvcError(`SVC_NETWORK is mainnet or testnet, not '${named}'`, 'invalid_network')
}
