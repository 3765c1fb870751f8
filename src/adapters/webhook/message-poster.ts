/** Posts messages over kept-alive connections of undici. `fetch-message-poster.ts` does it where undici is missing. */
import { whenUsed } from '../../ports/when-used.js'

export interface MessagePoster {
  /** Posts once, and answers the status. Follows no redirect, and ignores what the answer says. */
  post(url: URL, message: Message): Promise<number>
  /** Cuts what is still being posted. */
  close(): Promise<void>
}

export interface Message {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
}

const ANSWER_BYTES_MAX = 131_072

export function messagePoster(connectionsMax: number): MessagePoster {
  const undici = whenUsed(async () => {
    const { Agent, request } = await import('undici')
    return { request, dispatcher: new Agent({ connections: connectionsMax }) }
  })
  return {
    async post(url, message) {
      const { request, dispatcher } = await undici()
      const { statusCode, body } = await request(url, { method: 'POST', ...message, dispatcher })
      // The body is read to its end, within bounds, so that the connection can be used again.
      await body.dump({ limit: ANSWER_BYTES_MAX, signal: message.signal }).catch(() => {})
      return statusCode
    },
    close: async () => (await undici.used)?.dispatcher.destroy(),
  }
}
