import { SvcError } from '../src/domain/errors.js'
import { networkOf } from '../src/domain/network.js'
import { isRecord } from '../src/domain/x402.js'
import { ownNetworkIfAny } from './network-from-environment.js'
import { printable } from './output.js'

/** The same error, with the networks that the seller quotes, where none of them is the caller's. */
export function withQuotedNetworks(error: unknown): unknown {
  if (!(error instanceof SvcError) || error.code !== 'unreadable_quote') return error
  const accepts = isRecord(error.detail) && Array.isArray(error.detail.accepts) ? error.detail.accepts : []
  const own = ownNetworkIfAny()
  const networks = new Set<string>()
  for (const entry of accepts) {
    if (isRecord(entry) && typeof entry.network === 'string')
      networks.add(networkOf(entry.network, own)?.name ?? printable(entry.network).slice(0, NAME_LENGTH_MAX))
  }
  if (networks.size === 0) return error
  const [first] = networks
  const cure = first === 'mainnet' || first === 'testnet' ? `; try --network ${first}` : ''
  const message = `${error.message}. The seller quotes ${[...networks].join(', ')}${cure}`
  return new SvcError(message, error.code, error.status, error.detail)
}

const NAME_LENGTH_MAX = 60
