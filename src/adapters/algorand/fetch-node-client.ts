/** As `nodeClient`, over the global `fetch`: for browsers, which pool connections themselves. */
import { wakefulClock } from '../../ports/clock.js'
import {
  type NodeClient,
  type NodeOptions,
  nodeClientOver,
  RESPONSE_BYTES_MAX,
  unavailable,
} from './node-response.js'

export function fetchNodeClient(options: NodeOptions, tokenHeader: string): NodeClient {
  return nodeClientOver(options, tokenHeader, {
    clock: wakefulClock,
    async send(url, request) {
      const response = await fetch(url, { ...request, credentials: 'omit' })
      const text = await response.text()
      if (text.length > RESPONSE_BYTES_MAX) throw unavailable('an answer too large to be one')
      return { status: response.status, text }
    },
    close: async () => {},
  })
}
