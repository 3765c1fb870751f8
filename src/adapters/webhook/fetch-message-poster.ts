/** Posts messages with the runtime's own `fetch`. Who posts bounds how many are under way at once. */
import type { MessagePoster } from './message-poster.js'

export function fetchMessagePoster(): MessagePoster {
  const closed = new AbortController()
  return {
    async post(url, { signal, ...message }) {
      const either = AbortSignal.any([signal, closed.signal])
      const request = { method: 'POST', ...message, signal: either, redirect: 'manual' } as const
      const { status, body } = await fetch(url, request)
      body?.cancel().catch(() => {})
      return status
    },
    async close() {
      closed.abort()
    },
  }
}
