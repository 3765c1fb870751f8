import { SvcError } from '../src/domain/errors.js'
import { quotedNetworks } from '../src/domain/quoted-networks.js'
import { isRecord } from '../src/domain/x402.js'
import { ownNetworkIfAny } from './network-from-environment.js'

/** The same error, with the flag that fits, where the seller quotes testnet. A seller's quote never makes us advise mainnet. */
export function withNetworkHint(error: unknown): unknown {
  if (!(error instanceof SvcError) || error.code !== 'unreadable_quote' || !isRecord(error.detail))
    return error
  const accepts = Array.isArray(error.detail.accepts) ? error.detail.accepts : []
  const isQuoted = quotedNetworks(accepts, ownNetworkIfAny()).includes('testnet')
  if (!isQuoted || error.message.includes(' on testnet')) return error
  return new SvcError(`${error.message}; try --network testnet`, error.code, error.status, error.detail)
}
