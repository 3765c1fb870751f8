/** As `nodeClient`, by the global fetch: for browsers, which pool connections themselves. */
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
    try {
      const signal = AbortSignal.timeout(options.nodeTimeoutMs ?? NODE_TIMEOUT_MS)
      const response = await fetch(base + path, { headers, signal, credentials: 'omit' })
      const text = await response.text()
      if (text.length > ANSWER_BYTES_MAX) throw unavailable('an answer too large to be one')
      return answerIn(response.status, text)
    } catch (error) {
      throw unavailableBy(error)
    }
  }

  return { find, get: path => present(find(path)), close: async () => {} }
}
