/** A file that only grows, by whole lines that are on the disk when `append` resolves. */
import { closeSync, fdatasyncSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { numberAfter } from './journal-lines.js'
import { OWNER_ONLY, olderFiles } from './journal-rotation.js'

export type JournalFile = Awaited<ReturnType<typeof openJournalFile>>

const NEWLINE = 0x0a
const TAIL_BYTES = 64 * 1024

/** Where a process that begins to write finds the journal. */
export interface Begun {
  readonly bytes: number
  /** Whether there are lines besides the header. */
  readonly isUsed: boolean
  /** The number of the line that follows the header. */
  readonly next: number
}

/** Synchronously: where that fails, the server throws before it takes its first call. `next` is the line after the header. */
export function beginJournalFile(path: string, headerFor: (next: number) => string): Begun {
  const fd = openSync(path, 'a+', OWNER_ONLY)
  try {
    const { size } = fstatSync(fd)
    const next = numberAfterTail(fd, size) ?? numberAfterFile(olderFiles(path).at(-1)) ?? 1
    // A process that was killed while writing may have left half a line, or one without its newline: the header begins a new one.
    const header = Buffer.from(endsMidLine(fd, size) ? `\n${headerFor(next)}` : headerFor(next))
    for (let at = 0; at < header.length; ) at += writeSync(fd, header, at)
    fdatasyncSync(fd)
    return { bytes: size + header.length, isUsed: size > 0, next }
  } finally {
    closeSync(fd)
  }
}

/** @param bytesMax The end of the last append that succeeded: the rest of a failed one is cut off. */
export async function openJournalFile(path: string, bytesMax: number) {
  const file = await open(path, 'a', OWNER_ONLY)
  try {
    await file.truncate(Math.min(bytesMax, (await file.stat()).size))
  } catch (cause) {
    await file.close()
    throw cause
  }
  let { size: bytes } = await file.stat()
  return {
    get bytes() {
      return bytes
    },
    async append(text: string): Promise<void> {
      const buffer = Buffer.from(text)
      await file.appendFile(buffer)
      await file.datasync()
      bytes += buffer.length
    },
    close: () => file.close(),
  }
}

function numberAfterFile(path: string | undefined): number | undefined {
  if (path === undefined) return undefined
  const fd = openSync(path, 'r')
  try {
    return numberAfterTail(fd, fstatSync(fd).size)
  } finally {
    closeSync(fd)
  }
}

function numberAfterTail(fd: number, size: number): number | undefined {
  for (let bytes = Math.min(TAIL_BYTES, size); bytes > 0; bytes = Math.min(bytes * 4, size)) {
    const tail = readAt(fd, bytes, size - bytes)
    const end = tail.lastIndexOf(NEWLINE)
    const start = end > 0 ? tail.lastIndexOf(NEWLINE, end - 1) : -1
    const lineIn = (from: number, to?: number) => numberAfter(tail.toString('utf8', from, to))
    if (start >= 0 || bytes === size) return lineIn(end + 1) ?? lineIn(start + 1, end)
  }
  return undefined
}

function endsMidLine(fd: number, size: number): boolean {
  return size > 0 && readAt(fd, 1, size - 1)[0] !== NEWLINE
}

function readAt(fd: number, bytes: number, at: number): Buffer {
  const buffer = Buffer.alloc(bytes)
  return buffer.subarray(0, readSync(fd, buffer, 0, bytes, at))
}
