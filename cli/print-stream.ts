/** Prints the body of an answer as it comes. A slow reader of stdout slows the stream down. */
import type { EventSourceMessage } from 'eventsource-parser'
import { mediaTypeOf, messagesIn, type ShownWindow } from '../src/app/client/index.js'
import type { StreamResult } from '../src/client.js'
import { isJson, jsonIn, SvcError, toBase64 } from '../src/domain/index.js'
import { balanceRows, columns, json, note, shownText, withoutControls, written } from './output.js'
import { type BytesSink, bytesSink } from './print-answer.js'
import { onOneLine } from './shown-json.js'

/** Events as lines, text and bytes as they are. With `asJson`, one JSON line for each event or piece, and one at the end. */
export async function printStream(
  result: StreamResult,
  subscription: ShownWindow | undefined,
  asJson: boolean,
): Promise<void> {
  const { status, payment, attempts, replayed, sentTxId, warnings } = result
  const sink = bytesSink(mediaTypeOf(result))
  const last = async (complete: boolean) => {
    // The answer is not withheld where its cost is not told.
    const { charged, left } = await result.cost().catch(() => result)
    const paid = { status, payment, charged, left, attempts, replayed, sentTxId }
    if (asJson) await written(`${json({ ...paid, warnings, subscription, complete })}\n`)
    else if (result.charged === undefined && charged !== undefined)
      note(...columns(balanceRows({ charged, left })))
  }
  try {
    for await (const piece of piecesOf(result)) {
      if (asJson) await written(`${asJsonLine(piece)}\n`)
      else await writePlain(piece, sink)
    }
  } catch (error) {
    // The error is thrown also where this cannot be written either.
    await last(false).catch(() => {})
    throw error
  } finally {
    await sink.close()
  }
  await last(true)
}

/** `text`: the bytes, where they are a part of a text. */
type Piece =
  | { readonly message: EventSourceMessage }
  | { readonly bytes: Uint8Array; readonly text?: string; readonly type: string }

async function* piecesOf(result: StreamResult): AsyncGenerator<Piece> {
  const type = mediaTypeOf(result)
  if (type === 'text/event-stream') {
    for await (const message of messagesIn(result.body, tooLarge)) yield { message }
    return
  }
  const isText = type.startsWith('text/') || isJson(type)
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
  for await (const bytes of result.body)
    yield { bytes, type, ...(isText && { text: utf8.decode(bytes, { stream: true }) }) }
}

function tooLarge(charactersMax: number): SvcError {
  return new SvcError(`An event has more than ${charactersMax} characters`, 'event_too_large')
}

/** JSON in an event stays as it came, so that its numbers keep their digits. */
function asJsonLine(piece: Piece): string {
  if ('bytes' in piece) {
    const { bytes, text, type } = piece
    return json(text === undefined ? { bytes: toBase64(bytes), type } : { text })
  }
  const { event, id, data } = piece.message
  const value = jsonIn(data) === undefined ? json(data) : withoutControls(onOneLine(data))
  return `${json({ event, id, data: 0 }).slice(0, -2)}${value}}`
}

async function writePlain(piece: Piece, sink: BytesSink): Promise<void> {
  if ('bytes' in piece) {
    const { bytes, text } = piece
    if (text === undefined || !process.stdout.isTTY) return sink.write(bytes)
    return written(shownText(text))
  }
  const { data } = piece.message
  const value = jsonIn(data)
  const isJsonValue = value !== undefined && typeof value !== 'string'
  return written(`${isJsonValue ? withoutControls(onOneLine(data)) : shownText((value as string) ?? data)}\n`)
}
