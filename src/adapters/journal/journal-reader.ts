/** Reads journals of any length, one piece at a time. */
import { type FileHandle, open } from 'node:fs/promises'
import type { EndedCall } from '../../ports/call-observer.js'
import { olderFiles } from './journal-file.js'
import { type HeaderLine, readLine } from './journal-lines.js'
import { isLocked } from './journal-lock.js'
import { type LineFlaw, type LineOrder, lineOrder } from './line-order-check.js'

/** The contents of some consecutive lines. */
export interface JournalPiece {
  readonly headers: readonly HeaderLine[]
  readonly runs: readonly EndedCall[]
  /** Calls that the journal reports as lost. */
  readonly lost: number
  /** Lines that cannot be read, such as the half line of a killed process. */
  readonly unreadable: number
  readonly flaws: readonly LineFlaw[]
}

const CHUNK_BYTES = 1024 * 1024

/**
 * Reads each file after the older files of the same journal. A file that is named twice is read once: a shell names it twice
 * when it expands `runs*.jsonl`.
 *
 * @throws NodeJS.ErrnoException `ENOENT` where neither a file nor an older one is there.
 */
export async function* readJournals(paths: readonly string[]): AsyncGenerator<JournalPiece> {
  const read = new Set<string>()
  for (const path of paths) {
    const order = lineOrder()
    for await (const { file, bytes, isPresent } of openFiles(path)) {
      const { dev, ino } = await file.stat()
      if (read.has(`${dev}:${ino}`)) continue
      read.add(`${dev}:${ino}`)
      // A process that still writes may not have finished its last line.
      const mayEndMidLine = isPresent && isLocked(path)
      yield* readPieces(chunksOf(file, bytes), order, mayEndMidLine)
    }
    yield { headers: [], runs: [], lost: 0, unreadable: 0, flaws: order.end() }
  }
}

export function readJournal(path: string): AsyncGenerator<JournalPiece> {
  return readJournals([path])
}

export async function* readPieces(
  chunks: AsyncIterable<Uint8Array>,
  order: LineOrder = lineOrder(),
  mayEndMidLine = false,
): AsyncGenerator<JournalPiece> {
  let rest = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([rest, chunk])
    const end = bytes.lastIndexOf(0x0a) + 1
    rest = bytes.subarray(end)
    if (end > 0) yield pieceOf(bytes.toString('utf8', 0, end), order)
  }
  if (rest.length > 0 && !mayEndMidLine) yield pieceOf(rest.toString('utf8'), order)
}

export function pieceOf(text: string, order: LineOrder = lineOrder()): JournalPiece {
  const headers: HeaderLine[] = []
  const runs: EndedCall[] = []
  const flaws: LineFlaw[] = []
  let lost = 0
  let unreadable = 0
  for (const each of text.split('\n')) {
    if (each === '') continue
    const line = readLine(each)
    const flaw = order.add(line)
    if (flaw) flaws.push(flaw)
    if (line.kind === 'run') runs.push(line.run)
    else if (line.kind === 'header') headers.push(line.header)
    else if (line.kind === 'lost') lost += line.lost
    else unreadable++
  }
  return { headers, runs, lost, unreadable, flaws }
}

interface OpenFile {
  readonly file: FileHandle
  /** Bytes to read. Later lines belong to the next audit. */
  readonly bytes: number
  readonly isPresent: boolean
}

/**
 * Opens the present file first: a server may rename it meanwhile, and it must still be read after the older ones. Between
 * renaming it and beginning a new one no file has this name; a process that is killed then leaves the folder in that state.
 */
async function* openFiles(path: string): AsyncGenerator<OpenFile> {
  const present = await openIfThere(path)
  try {
    const bytes = (await present?.stat())?.size ?? 0
    for (const name of olderFiles(path)) {
      const file = await open(name)
      try {
        yield { file, bytes: (await file.stat()).size, isPresent: false }
      } finally {
        await file.close()
      }
    }
    if (present) yield { file: present, bytes, isPresent: true }
  } finally {
    await present?.close()
  }
}

/** @throws NodeJS.ErrnoException `ENOENT` where there are no older ones either. */
async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT' || olderFiles(path).length === 0) throw cause
    return undefined
  }
}

async function* chunksOf(file: FileHandle, bytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; ) {
    const { bytesRead, buffer } = await file.read(
      Buffer.allocUnsafe(Math.min(CHUNK_BYTES, bytes - at)),
      0,
      undefined,
      at,
    )
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}
