/** A file that only grows, by whole lines that are on the disk when `append` resolves; and the older files of its journal. */
import { closeSync, fdatasyncSync, fstatSync, openSync, readdirSync, readSync, writeSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { numberAfter } from './journal-lines.js'

export interface JournalFile {
  /** The length that is on the disk. It ends with a whole line. */
  readonly bytes: number
  append(text: string): Promise<void>
  close(): Promise<void>
}

/** A journal names payers, so only its owner may read it. */
const MODE = 0o600
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

/**
 * Begins to write, synchronously: where that fails, the server throws before it takes its first call.
 *
 * @param headerFor makes the first line from the number of the line that follows it.
 */
export function beginJournalFile(path: string, headerFor: (next: number) => string): Begun {
  const fd = openSync(path, 'a+', MODE)
  try {
    const { size } = fstatSync(fd)
    const next = numberAfterTail(fd, size) ?? numberAfterFile(olderFiles(path).at(-1)) ?? 1
    // A process that was killed while writing may have left half a line: the header begins a new one.
    const header = Buffer.from(endsMidLine(fd, size) ? `\n${headerFor(next)}` : headerFor(next))
    for (let at = 0; at < header.length; ) at += writeSync(fd, header, at)
    fdatasyncSync(fd)
    return { bytes: size + header.length, isUsed: size > 0, next }
  } finally {
    closeSync(fd)
  }
}

/** @param bytesMax The end of the last append that succeeded: the rest of a failed one is cut off. */
export async function openJournalFile(path: string, bytesMax: number): Promise<JournalFile> {
  const file = await open(path, 'a', MODE)
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
    async append(text) {
      const buffer = Buffer.from(text)
      await file.appendFile(buffer)
      await file.datasync()
      bytes += buffer.length
    },
    close: () => file.close(),
  }
}

/** Renames `runs.jsonl` to `runs.000007.jsonl`, one number higher than the last. No file is ever deleted. */
export async function rotate(path: string): Promise<void> {
  const last = olderNumbers(path).at(-1) ?? 0
  await rename(path, numbered(path, last + 1))
}

/** The renamed files of a journal, oldest first. */
export function olderFiles(path: string): readonly string[] {
  return olderNumbers(path).map(number => numbered(path, number))
}

function olderNumbers(path: string): number[] {
  const [folder, extension] = [dirname(path), extname(path)]
  const stem = `${basename(path, extension)}.`
  return readdirSync(folder)
    .filter(name => name.startsWith(stem) && name.endsWith(extension))
    .map(name => name.slice(stem.length, name.length - extension.length))
    .filter(number => /^\d{6}$/.test(number))
    .map(Number)
    .sort((a, b) => a - b)
}

function numbered(path: string, number: number): string {
  const extension = extname(path)
  const stem = basename(path, extension)
  return join(dirname(path), `${stem}.${String(number).padStart(6, '0')}${extension}`)
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

/** Reads the last whole line of the file, however long it is. */
function numberAfterTail(fd: number, size: number): number | undefined {
  for (let bytes = Math.min(TAIL_BYTES, size); bytes > 0; bytes = Math.min(bytes * 4, size)) {
    const tail = readAt(fd, bytes, size - bytes)
    const end = tail.lastIndexOf(NEWLINE)
    const start = end > 0 ? tail.lastIndexOf(NEWLINE, end - 1) : -1
    if (start >= 0 || bytes === size)
      return end > 0 ? numberAfter(tail.toString('utf8', start + 1, end)) : undefined
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
