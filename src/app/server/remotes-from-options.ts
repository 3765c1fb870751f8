import { sandboxUrl } from '#platform'
import { FACILITATOR_CONNECTIONS_MAX } from '../../adapters/facilitator/x402-facilitator.js'
import type { NetworkFacts } from '../../domain/network.js'
import { type NodeUrls, nodeUrls } from '../../domain/network-definition.js'
import type { ProtocolFacilitator } from '../../ports/protocol-facilitator.js'
import { facilitatorInProcessOf, invalid, positive, secretToken } from './option-checks.js'
import type { FacilitatorElsewhere, ServerOptions } from './server-options.js'

export interface Remotes extends NodeUrls {
  /** In this process; then there are no URLs of others. */
  readonly facilitator: ProtocolFacilitator | undefined
  /** In order of preference; none where neither the options nor the network name one. */
  readonly facilitatorsElsewhere: readonly FacilitatorElsewhere[]
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
  const given = [options.facilitatorUrl ?? sandbox ?? network.facilitatorUrl ?? []].flat()
  return {
    facilitator,
    facilitatorsElsewhere: facilitator ? [] : given.map(elsewhere),
    facilitatorConnectionsMax: positive(
      'maxFacilitatorConnections',
      options.maxFacilitatorConnections ?? FACILITATOR_CONNECTIONS_MAX,
    ),
    ...nodeUrls(network, options, sandbox),
  }
}

function elsewhere(given: string | FacilitatorElsewhere): FacilitatorElsewhere {
  if (typeof given === 'string') return { url: given }
  const { url, token } = given
  return token === undefined ? { url } : { url, token: secretToken('facilitatorUrl.token', token) }
}
