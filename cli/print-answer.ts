/** Prints an answer, whole or as it comes: to a pipe as it came, and on a terminal without any raw byte of its sender's. */
import { randomBytes } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import type { EventSourceMessage } from 'eventsource-parser'
import { mediaTypeOf, messagesIn, outcomeOfResult, type ShownWindow } from '../src/app/client/index.js'
import type { CallResult, StreamResult } from '../src/client.js'
import { isJson, jsonIn, SvcError, textIn, toBase64 } from '../src/domain/index.js'
import {
  balanceRows,
  columns,
  indented,
  json,
  note,
  onOneLine,
  printable,
  shownText,
  withoutControls,
  written,
} from './output.js'

/** One JSON object, with the seller's own JSON in it as it came; bytes are base64, with their type. */
export async function printAnswerAsJson(
  result: CallResult,
  subscription: ShownWindow | undefined,
): Promise<void> {
  const { data, ...rest } = result
  const { bytes, type, text } = receivedIn(result)
  const shown = data instanceof Uint8Array ? { bytes: toBase64(bytes), type } : data
  const first = text !== undefined && isJsonText(type, text) ? withoutControls(onOneLine(text)) : json(shown)
  await written(`{"data":${first},${json({ ...rest, subscription }).slice(1)}\n`)
}

export async function printAnswer(result: CallResult): Promise<void> {
  const { bytes, type, text = result.data } = receivedIn(result)
  if (!process.stdout.isTTY) return written(bytes)
  if (typeof text === 'string') {
    const shown = isJsonText(type, text) ? indented(text) : text
    return written(`${withoutControls(shown)}${shown === '' || shown.endsWith('\n') ? '' : '\n'}`)
  }
  const sink = bytesSink(type)
  try {
    await sink.write(bytes)
  } finally {
    await sink.close()
  }
}

/** `text` is absent where the bytes are none in UTF-8. */
function receivedIn(result: CallResult) {
  const { reply } = outcomeOfResult(result)!
  const { bytes } = reply
  const text = textIn(bytes, undefined)
  return { bytes, type: mediaTypeOf(reply), text: text?.includes('\0') ? undefined : text }
}

function isJsonText(type: string, text: string): boolean {
  return isJson(type) && jsonIn(text) !== undefined
}

/** Where bytes go that are no text. */
interface BytesSink {
  write(bytes: Uint8Array): Promise<void>
  close(): Promise<void>
}

/**
 * Stdout; where that is a terminal, which bytes could command, a new file in the working folder. Thrown away, they would be an
 * answer that was paid for and lost.
 */
function bytesSink(type: string): BytesSink {
  let file: FileHandle | undefined
  return {
    async write(bytes) {
      if (!process.stdout.isTTY) return written(bytes)
      if (!file) {
        const path = `svc-answer-${randomBytes(4).toString('hex')}.bin`
        file = await open(path, 'wx', 0o600)
        note(
          `The answer is ${printable(type || 'of no type')}, which a terminal cannot show: it is in ${path}`,
        )
      }
      await file.writeFile(bytes)
    },
    close: async () => file?.close(),
  }
}

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
    const tooLarge = (most: number) =>
      new SvcError(`An event has more than ${most} characters`, 'event_too_large')
    for await (const message of messagesIn(result.body, tooLarge)) yield { message }
    return
  }
  const isText = type.startsWith('text/') || isJson(type)
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
  for await (const bytes of result.body)
    yield { bytes, type, ...(isText && { text: utf8.decode(bytes, { stream: true }) }) }
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
