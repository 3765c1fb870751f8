/** A node's client over the runtime's own `fetch`: browsers, Bun, Deno and Workers pool connections themselves. */
import type { Clock } from '../../ports/clock.js'
import { readWebBody } from '../../ports/read-web-body.js'
import { deadline } from '../../ports/timeouts-and-aborts.js'
import {
  type NodeOptions,
  nodeClientOver,
  type PostingNodeClient,
  RESPONSE_BYTES_MAX,
  unavailable,
} from './node-response-reader.js'

/** `init` is what this runtime's requests need besides. */
export function nodeClientOverFetch(clock: Pick<Clock, 'after'>, init: object = {}) {
  return (options: NodeOptions, tokenHeader: string): PostingNodeClient =>
    nodeClientOver(options, tokenHeader, {
      clock,
      async send(url, request, { clock, timeoutMs }) {
        const { signal, clear } = deadline(clock, timeoutMs)
        try {
          // A token is for the node that was named, and for no other host.
          const { status, body } = await fetch(url, { ...init, ...request, signal, redirect: 'manual' })
          return { status, text: await textOf(body) }
        } finally {
          clear()
        }
      },
      close: async () => {},
    })
}

async function textOf(body: ReadableStream<Uint8Array> | null): Promise<string> {
  const bytes = await readWebBody(body, RESPONSE_BYTES_MAX)
  if (bytes === undefined) throw unavailable(`an answer of more than ${RESPONSE_BYTES_MAX} bytes`)
  return new TextDecoder().decode(bytes)
}
