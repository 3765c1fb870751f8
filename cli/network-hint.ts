import { SvcError } from '../src/domain/errors.js'
import { isPublicNetwork } from '../src/domain/network.js'
import { quotedNetworks } from '../src/domain/quoted-networks.js'
import { isRecord } from '../src/domain/x402.js'
import { ownNetworkIfAny } from './network-from-environment.js'

/** The same error, with the flag that fits, where the seller quotes a public network. */
export function withNetworkHint(error: unknown): unknown {
  if (!(error instanceof SvcError) || error.code !== 'unreadable_quote' || !isRecord(error.detail))
    return error
  const accepts = Array.isArray(error.detail.accepts) ? error.detail.accepts : []
  const named = quotedNetworks(accepts, ownNetworkIfAny()).find(isPublicNetwork)
  if (named === undefined || error.message.includes(` on ${named}`)) return error
  return new SvcError(`${error.message}; try --network ${named}`, error.code, error.status, error.detail)
}
