import { sandboxUrl } from '#platform'
import type { NetworkFacts } from '../../domain/network.js'
import { type NodeUrls, nodeUrls } from '../../domain/node-urls.js'
import type { ServerOptions } from './server-options.js'

export interface Remotes extends NodeUrls {
  /** In order of preference; none where neither the options nor the network name one. */
  readonly facilitatorUrls: readonly string[]
}

/** The URLs of the facilitator and the node. `SVC_SANDBOX` replaces both, so an unchanged agent runs offline. */
export function remotesOf(options: ServerOptions, network: NetworkFacts): Remotes {
  const sandbox = sandboxUrl()
  return {
    facilitatorUrls: [options.facilitatorUrl ?? sandbox ?? network.facilitatorUrl ?? []].flat(),
    ...nodeUrls(network, options, sandbox),
  }
}
