/** A node's client over the runtime's own `fetch`: browsers, Bun, Deno and Workers pool connections themselves. */
import type { Clock } from '../../ports/clock.js'
import {
  type NodeClient,
  type NodeOptions,
  nodeClientOver,
  RESPONSE_BYTES_MAX,
  unavailable,
} from './node-response-reader.js'

/** `init` is what this runtime's requests need besides. */
export function nodeClientOverFetch(clock: Pick<Clock, 'after'>, init: object = {}) {
  return (options: NodeOptions, tokenHeader: string): NodeClient =>
    nodeClientOver(options, tokenHeader, {
      clock,
      async send(url, request) {
        // A token is for the node that was named, and for no other host.
        const { status, body } = await fetch(url, { ...init, ...request, redirect: 'manual' })
        return { status, text: await boundedText(body) }
      },
      close: async () => {},
    })
}

async function boundedText(body: ReadableStream<Uint8Array> | null): Promise<string> {
  if (body === null) return ''
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (let length = 0; ; ) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    length += value.length
    if (length > RESPONSE_BYTES_MAX) {
      reader.cancel().catch(() => {})
      throw unavailable(`an answer of more than ${RESPONSE_BYTES_MAX} bytes`)
    }
    text += decoder.decode(value, { stream: true })
  }
}
