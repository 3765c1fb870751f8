/** As `nodeClient`, by the global fetch: for browsers, which pool connections themselves. */
import { wakefulClock } from '../../ports/clock.js'
import { deadline } from '../../ports/waiting.js'
import {
  ANSWER_BYTES_MAX,
  answerIn,
  askedAt,
  NODE_TIMEOUT_MS,
  type NodeClient,
  type NodeOptions,
  present,
  unavailable,
  unavailableBy,
} from './node-answers.js'

export function fetchNodeClient(options: NodeOptions, tokenHeader: string): NodeClient {
  const { base, headers } = askedAt(options, tokenHeader)

  async function find(path: string): Promise<Record<string, unknown> | undefined> {
    const { signal, clear } = deadline(wakefulClock, options.nodeTimeoutMs ?? NODE_TIMEOUT_MS)
    try {
      const response = await fetch(base + path, { headers, signal, credentials: 'omit' })
      const text = await response.text()
      if (text.length > ANSWER_BYTES_MAX) throw unavailable('an answer too large to be one')
      return answerIn(response.status, text)
    } catch (error) {
      throw unavailableBy(error)
    } finally {
      clear()
    }
  }

  return { find, get: path => present(find(path)), close: async () => {} }
}
