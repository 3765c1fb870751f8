/** Prints the body of an answer as it comes. A slow reader of stdout slows the stream down. */
import { once } from 'node:events'
import { isJson, mediaTypeOf } from '../src/app/client/read-response.js'
import type { ActiveSubscription, StreamResult } from '../src/client.js'
import { json, shownText, writeResult } from './output.js'

/** A window without its key, where this call did not buy it. */
export type ShownWindow = Omit<ActiveSubscription, 'key'> & { readonly key?: string }

/** Events as lines, text and bytes as they are. With `asJson`, one JSON line for each event or piece, and one at the end. */
export async function printStream(
  result: StreamResult & { readonly subscription: ShownWindow | undefined },
  asJson: boolean,
): Promise<void> {
  const { status, payment, attempts, replayed, sentTxId, warnings, subscription } = result
  let complete = false
  try {
    for await (const piece of piecesOf(result)) await write(asJson ? `${json(piece)}\n` : plain(piece))
    complete = true
  } finally {
    const head = { status, payment, attempts, replayed, sentTxId, warnings, subscription, complete }
    if (asJson) await write(`${json(head)}\n`)
  }
}

type Piece = { readonly data: unknown } | { readonly text: string } | { readonly bytes: Uint8Array }

async function* piecesOf(result: StreamResult): AsyncGenerator<Piece> {
  const { body, events } = result
  const type = mediaTypeOf(result)
  if (type === 'text/event-stream') return yield* events()
  const isText = type.startsWith('text/') || isJson(type)
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
  for await (const bytes of body)
    yield isText ? { text: utf8.decode(bytes, { stream: true }) } : pieceOf(bytes)
}

/** As JSON, bytes are base64. */
function pieceOf(bytes: Uint8Array): Piece {
  return { bytes: Object.assign(bytes, { toJSON: () => Buffer.from(bytes).toString('base64') }) }
}

function plain(piece: Piece): string | Uint8Array {
  if ('bytes' in piece) return piece.bytes
  if ('text' in piece) return shownText(piece.text)
  return `${typeof piece.data === 'string' ? shownText(piece.data) : json(piece.data)}\n`
}

async function write(output: string | Uint8Array): Promise<void> {
  if (!writeResult(output)) await once(process.stdout, 'drain')
}
