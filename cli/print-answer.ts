/** Prints a whole answer: to a pipe as it came, and on a terminal without any raw byte of its sender's. */
import { randomBytes } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { mediaTypeOf, outcomeOfResult, type ShownWindow } from '../src/app/client/index.js'
import type { CallResult } from '../src/client.js'
import { isJson, jsonIn, toBase64 } from '../src/domain/index.js'
import { json, note, printable, withoutControls, written } from './output.js'
import { indented, onOneLine } from './shown-json.js'

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
  return { bytes, type: mediaTypeOf(reply), text: textIn(bytes) }
}

function textIn(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true }).decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

function isJsonText(type: string, text: string): boolean {
  return isJson(type) && jsonIn(text) !== undefined
}

/** Where bytes go that are no text. */
export interface BytesSink {
  write(bytes: Uint8Array): Promise<void>
  close(): Promise<void>
}

/**
 * Stdout; where that is a terminal, which bytes could command, a new file in the working folder. Thrown away, they would be an
 * answer that was paid for and lost.
 */
export function bytesSink(type: string): BytesSink {
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
