/** As `nodeClient`, over the global `fetch`: for browsers, which pool connections themselves. */
import { wakefulClock } from '../../ports/clock.js'
import { deadline } from '../../ports/waiting.js'
import {
  NODE_TIMEOUT_MS,
  type NodeClient,
  type NodeOptions,
  RESPONSE_BYTES_MAX,
  requestTarget,
  requireFound,
  responseBody,
  unavailable,
  unavailableBy,
} from './node-response.js'

export function fetchNodeClient(options: NodeOptions, tokenHeader: string): NodeClient {
  const { base, headers } = requestTarget(options, tokenHeader)

  async function find(path: string): Promise<Record<string, unknown> | undefined> {
    const { signal, clear } = deadline(wakefulClock, options.nodeTimeoutMs ?? NODE_TIMEOUT_MS)
    try {
      const response = await fetch(base + path, { headers, signal, credentials: 'omit' })
      const text = await response.text()
      if (text.length > RESPONSE_BYTES_MAX) throw unavailable('an answer too large to be one')
      return responseBody(response.status, text)
    } catch (error) {
      throw unavailableBy(error)
    } finally {
      clear()
    }
  }

  return { find, get: path => requireFound(find(path)), close: async () => {} }
}
