import { sandboxUrl } from '#platform'
import { FACILITATOR_CONNECTIONS_MAX } from '../../adapters/facilitator/x402-facilitator.js'
import type { NetworkFacts } from '../../domain/network.js'
import { type NodeUrls, nodeUrls } from '../../domain/node-urls.js'
import type { ProtocolFacilitator } from '../../ports/protocol-facilitator.js'
import { facilitatorInProcessOf, invalid, positive } from './option-checks.js'
import type { ServerOptions } from './server-options.js'

export interface Remotes extends NodeUrls {
  /** In this process; then there are no URLs of others. */
  readonly facilitator: ProtocolFacilitator | undefined
  /** In order of preference; none where neither the options nor the network name one. */
  readonly facilitatorUrls: readonly string[]
  /** To each of them. */
  readonly facilitatorConnectionsMax: number
}

/** The facilitators and the node. `SVC_SANDBOX` replaces both, so an unchanged agent runs offline. */
export function remotesOf(options: ServerOptions, network: NetworkFacts): Remotes {
  const sandbox = sandboxUrl()
  const facilitator = facilitatorInProcessOf(options.facilitator)
  if (facilitator && options.facilitatorUrl !== undefined) {
    throw invalid('facilitator and facilitatorUrl are two ways to settle: give one of them')
  }
  const urls = [options.facilitatorUrl ?? sandbox ?? network.facilitatorUrl ?? []].flat()
  return {
    facilitator,
    facilitatorUrls: facilitator ? [] : urls,
    facilitatorConnectionsMax: positive(
      'maxFacilitatorConnections',
      options.maxFacilitatorConnections ?? FACILITATOR_CONNECTIONS_MAX,
    ),
    ...nodeUrls(network, options, sandbox),
  }
}
