import { type FileHandle, open } from 'node:fs/promises'
import { normalize } from 'node:path'
import { SvcError } from '../../domain/errors.js'
import { journalOf, olderFiles } from './append-to-files.js'
import { fileBehind, isLocked } from './journal-lock.js'
import {
  type CountLine,
  type EndedStream,
  type HeaderLine,
  type JournalRun,
  readLine,
} from './line-format.js'
import { type LineFlaw, lineOrder } from './line-order-check.js'

export interface JournalPiece {
  readonly headers: readonly HeaderLine[]
  readonly runs: readonly JournalRun[]
  /** Each follows the run of its stream, in this piece or an earlier one. */
  readonly streams: readonly EndedStream[]
  /** How many calls without a line of their own ended. */
  readonly counts: readonly CountLine[]
  /** Of the first piece of a journal whose older lines are not there: how many, and when the first that is there was written. */
  readonly missing?: { readonly lines: number; readonly beforeMs: number }
  /** Calls that the journal reports as lost. */
  readonly lost: number
  /** Lines that cannot be read, such as the half line of a killed process. */
  readonly unreadable: number
  readonly flaws: readonly LineFlaw[]
}

const CHUNK_BYTES = 1024 * 1024
/** More than any call has. */
const LINE_BYTES_MAX = 64 * 1024 * 1024
const TOO_LONG = 'A line has more than 64 MiB: this is no journal'

/** The same lines each time, whatever a server deletes or adds. Files of one journal are read in their order, each once. */
export async function openJournals(paths: readonly string[]) {
  const opened = new Map<string, OpenFile>()
  const journals: OpenFile[][] = []
  const close = async () => {
    await Promise.all([...opened.values()].map(({ file }) => file.close()))
  }
  try {
    const names = paths.map(path => normalize(fileBehind(path)))
    for (const path of new Set(names.map(journalOf))) {
      const named = names.filter(name => journalOf(name) === path)
      const files: OpenFile[] = []
      for (const name of namesOf(path, named)) {
        const file = await openIfThere(name, path, named)
        if (file === undefined) continue
        if (opened.has(file.id)) await file.file.close()
        else files.unshift(file)
        opened.set(file.id, opened.get(file.id) ?? file)
      }
      journals.push(files)
    }
  } catch (cause) {
    await close()
    throw cause
  }
  return {
    async *pieces(): AsyncGenerator<JournalPiece> {
      for (const files of journals) yield* piecesOf(files)
    },
    files: journals.flat(),
    close,
  }
}

/** Newest first: a server that rotates meanwhile renames the newest, which is open by then. So there is no gap between files. */
function* namesOf(path: string, named: readonly string[]): Generator<string> {
  if (named.includes(path)) yield path
  const older = named.includes(path) ? olderFiles(path) : []
  yield* [...new Set([...named.filter(name => name !== path), ...older])].sort().reverse()
}

async function* piecesOf(files: readonly OpenFile[]): AsyncGenerator<JournalPiece> {
  const order = lineOrder()
  let isFirst = true
  for (const { file, bytes, mayEndMidLine } of files)
    for await (const piece of readPieces(chunksOf(file, bytes), order, mayEndMidLine)) {
      const [head] = isFirst ? piece.headers : []
      isFirst = false
      const { next = 1, openedMs = 0 } = head ?? {}
      yield next > 1 ? { ...piece, missing: { lines: next - 1, beforeMs: openedMs } } : piece
    }
  yield { ...pieceOf(''), flaws: order.end() }
}

const LATEST_BYTES = 16 * 1024 * 1024
const GLANCE_BYTES = 128 * 1024

/** Little is read at once, and of all but the latest lines those alone that have this text: a million lines took 44 s of CPU. */
export async function* readLatest(
  path: string,
  text: string,
  latestBytes = LATEST_BYTES,
): AsyncGenerator<JournalPiece & { readonly isLatest: boolean }> {
  const { files, close } = await openJournals([path])
  try {
    let before = files.reduce((sum, { bytes }) => sum + bytes, -latestBytes)
    for (const { file, bytes } of files) {
      for await (const whole of wholeLines(chunksOf(file, bytes, GLANCE_BYTES), true)) {
        before -= whole.length
        const isLatest = before < 0
        if (!isLatest && !whole.includes(text)) continue
        const lines = whole.toString('utf8').split('\n')
        const wanted = isLatest ? lines : lines.filter(line => line.includes(text))
        yield { ...pieceOf(wanted.join('\n')), isLatest }
      }
    }
  } finally {
    await close()
  }
}

export async function* readPieces(
  chunks: AsyncIterable<Uint8Array>,
  order = lineOrder(),
  mayEndMidLine = false,
): AsyncGenerator<JournalPiece> {
  for await (const whole of wholeLines(chunks, mayEndMidLine)) yield pieceOf(whole.toString('utf8'), order)
}

async function* wholeLines(
  chunks: AsyncIterable<Uint8Array>,
  mayEndMidLine: boolean,
): AsyncGenerator<Buffer> {
  let rest: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(0x0a) + 1
    if (end > 0) yield Buffer.concat([...rest, chunk.subarray(0, end)])
    rest = [...(end > 0 ? [] : rest), chunk.subarray(end)]
    bytes = (end > 0 ? 0 : bytes) + chunk.length - end
    if (bytes > LINE_BYTES_MAX) throw new SvcError(TOO_LONG, 'empty_journal')
  }
  if (bytes > 0 && !mayEndMidLine) yield Buffer.concat(rest)
}

export function pieceOf(text: string, order = lineOrder()): JournalPiece {
  const headers: HeaderLine[] = []
  const runs: JournalRun[] = []
  const streams: EndedStream[] = []
  const counts: CountLine[] = []
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
    else if (line.kind === 'stream') streams.push(line.ended)
    else if (line.kind === 'counted') counts.push(line.line)
    else if (line.kind === 'lost') lost += line.lost
    else unreadable++
  }
  return { headers, runs, streams, counts, lost, unreadable, flaws }
}

interface OpenFile {
  readonly file: FileHandle
  /** The same for each name of the file. */
  readonly id: string
  /** Bytes to read. Later lines belong to the next audit. */
  readonly bytes: number
  /** A process that still writes may not have finished its last line. */
  readonly mayEndMidLine: boolean
}

async function openIfThere(
  name: string,
  path: string,
  named: readonly string[],
): Promise<OpenFile | undefined> {
  try {
    const file = await open(name)
    const stat = await file.stat()
    if (!stat.isFile()) throw new SvcError(`${name} is no file`, 'file_unusable')
    const mayEndMidLine = name === path && isLocked(path)
    return { file, id: `${stat.dev}:${stat.ino}`, bytes: stat.size, mayEndMidLine }
  } catch (cause) {
    const isGone = (cause as NodeJS.ErrnoException).code === 'ENOENT'
    const isNeeded = name === path ? olderFiles(path).length === 0 : named.includes(name)
    if (!isGone || isNeeded) throw cause
    return undefined
  }
}

async function* chunksOf(
  file: FileHandle,
  bytes: number,
  bytesMax = CHUNK_BYTES,
): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; ) {
    const { bytesRead, buffer } = await file.read(
      Buffer.allocUnsafe(Math.min(bytesMax, bytes - at)),
      0,
      undefined,
      at,
    )
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}
