/** A `fetch` for URLs of strangers: it connects to public addresses only. */
import { whenUsed } from '../../ports/when-used.js'

const CONNECT_TIMEOUT_MS = 10_000

const undici = whenUsed(async () => {
  const [{ Agent, fetch }, { guardedConnector }] = await Promise.all([
    import('undici'),
    import('./public-connector.js'),
  ])
  const connect = guardedConnector({ timeoutMs: CONNECT_TIMEOUT_MS })
  return { fetch, dispatcher: new Agent({ connect, pipelining: 0 }) }
})

/** The caller must refuse redirects. Each one is checked when it connects, but another host chose its URL. */
export const publicFetch: typeof fetch = async (input, init) => {
  const { fetch, dispatcher } = await undici()
  const response = await fetch(input as string, { ...(init as object), dispatcher })
  return response as unknown as Response
}
