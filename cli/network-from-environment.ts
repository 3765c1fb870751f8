import { networkFrom } from '../src/app/server/network-from.js'
import type { Network } from '../src/domain/network.js'

/** @throws SvcError `invalid_network` */
export function networkFromEnvironment(): Network {
  const { SVC_NETWORK: named, SVC_SANDBOX: sandbox } = process.env
  return networkFrom(named || (sandbox ? 'testnet' : 'mainnet'))
}
