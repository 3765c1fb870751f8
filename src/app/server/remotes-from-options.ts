import { sandboxUrl } from '#platform'
import { DEFAULT_ALGOD, DEFAULT_FACILITATOR, DEFAULT_INDEXER, type Network } from '../../domain/network.js'
import { facilitatorInProcessOf, invalid } from './option-checks.js'
import type { ServerOptions } from './server-options.js'

/** The facilitators and the node. `SVC_SANDBOX` replaces both, so an unchanged agent runs offline. */
export function remotesOf(options: ServerOptions, network: Network) {
  const { facilitatorUrl, algodUrl, indexerUrl } = options
  const sandbox = sandboxUrl()
  const facilitator = facilitatorInProcessOf(options.facilitator)
  if (facilitator && facilitatorUrl !== undefined) {
    throw invalid('facilitator and facilitatorUrl are two ways to settle: give one of them')
  }
  const urls = [facilitatorUrl ?? sandbox ?? DEFAULT_FACILITATOR].flat() as readonly string[]
  return {
    facilitator,
    facilitatorUrls: facilitator ? [] : urls,
    algodUrl: algodUrl ?? sandbox ?? DEFAULT_ALGOD[network],
    indexerUrl: indexerUrl ?? ((algodUrl ?? sandbox) ? undefined : DEFAULT_INDEXER[network]),
  }
}
