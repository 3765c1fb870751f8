/** A `fetch` for URLs of strangers: it connects to public addresses only. */
import { Agent, fetch as undiciFetch } from 'undici'
import { guardedConnector } from './public-connector.js'

const CONNECT_TIMEOUT_MS = 10_000

let guarded: Agent | undefined

/** The caller must refuse redirects. Each one is checked when it connects, but another host chose its URL. */
export const publicFetch: typeof fetch = async (input, init) => {
  guarded ??= new Agent({ connect: guardedConnector({ timeoutMs: CONNECT_TIMEOUT_MS }), pipelining: 0 })
  const response = await undiciFetch(input as string, { ...(init as object), dispatcher: guarded })
  return response as unknown as Response
}
