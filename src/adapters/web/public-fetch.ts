/** The global fetch's twin for URLs that strangers name: it connects to public addresses only, whatever it is asked. */
import { Agent, fetch as undiciFetch } from 'undici'
import { guardedConnector } from './connector.js'

const CONNECT_TIMEOUT_MS = 10_000

let guarded: Agent | undefined

/** Redirects are for the caller to refuse: each would be judged where it connects, but it is another host's word. */
export const publicFetch: typeof fetch = async (input, init) => {
  guarded ??= new Agent({ connect: guardedConnector({ timeoutMs: CONNECT_TIMEOUT_MS }), pipelining: 0 })
  const response = await undiciFetch(input as string, { ...(init as object), dispatcher: guarded })
  return response as unknown as Response
}
