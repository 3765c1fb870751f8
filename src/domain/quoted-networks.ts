import { shown } from './errors.js'
import { type NetworkFacts, networkOf } from './network.js'
import { isRecord } from './x402.js'

/** The networks of a quote, as people call them. An unknown one is a stranger's text, and shortened. */
export function quotedNetworks(accepts: readonly unknown[], own: NetworkFacts | undefined): string[] {
  const ids = accepts.flatMap(entry =>
    isRecord(entry) && typeof entry.network === 'string' ? [entry.network] : [],
  )
  return [...new Set(ids.map(id => networkOf(id, own)?.name ?? shown(id)))].slice(0, NETWORKS_SHOWN_MAX)
}

const NETWORKS_SHOWN_MAX = 5
