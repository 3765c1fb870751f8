/** `runs.jsonl`, and before it `runs.000007.jsonl` and so on: whole lines, which are on the disk when `append` resolves. */
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { open, rename, truncate, writeFile } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { numberAfter, readLine } from './line-format.js'

export type JournalFile = Awaited<ReturnType<typeof openJournalFile>>

const NEWLINE = 0x0a
const TAIL_BYTES = 64 * 1024

/** Where a process that begins to write finds the journal. */
interface Begun {
  readonly bytes: number
  /** Whether there are lines besides the header. */
  readonly isUsed: boolean
  /** The number of the line that follows the header. */
  readonly next: number
  readonly ino: number
}

/** Synchronously: where that fails, the server throws before it takes its first call. `next` is the line after the header, at least. */
export function beginJournalFile(path: string, headerFor: (next: number) => string, from = 1): Begun {
  const fd = openSync(path, 'a+', OWNER_ONLY)
  try {
    const { size, ino, nlink } = fstatSync(fd)
    // Another process may write to it by its other name, under another lock: each name goes on in a file of its own.
    if (nlink > 1 && size > 0) {
      renameSync(path, nextNumbered(path))
      return beginJournalFile(path, headerFor, from)
    }
    const next = Math.max(from, numberAfterTail(fd, size) ?? numberAfterFile(olderFiles(path).at(-1)) ?? 1)
    // A process that was killed while writing may have left half a line, or one without its newline: the header begins a new one.
    const endsMidLine = size > 0 && readAt(fd, 1, size - 1)[0] !== NEWLINE
    const header = Buffer.from(endsMidLine ? `\n${headerFor(next)}` : headerFor(next))
    for (let at = 0; at < header.length; ) at += writeSync(fd, header, at)
    fdatasyncSync(fd)
    return { bytes: size + header.length, isUsed: size > 0, next, ino }
  } finally {
    closeSync(fd)
  }
}

/** @param bytes The end of the last append that succeeded: the rest of a failed one is cut off. */
export async function openJournalFile(path: string, bytes: number) {
  await truncate(path, bytes)
  const file = await open(path, 'a', OWNER_ONLY)
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

/** By the last line that can be read: a crash or an editor may have left broken lines after it. */
function numberAfterTail(fd: number, size: number): number | undefined {
  for (let bytes = Math.min(TAIL_BYTES, size); bytes > 0; bytes = Math.min(bytes * 4, size)) {
    const lines = String(readAt(fd, bytes, size - bytes)).split('\n')
    // The first line may lack its beginning.
    const read = lines.slice(bytes === size ? 0 : 1).map(readLine)
    const last = read.findLast(({ kind, number }) => kind !== 'unreadable' || number !== undefined)
    if (last || bytes === size) return last && numberAfter(last)
  }
  return undefined
}

function readAt(fd: number, bytes: number, at: number): Buffer {
  const buffer = Buffer.alloc(bytes)
  return buffer.subarray(0, readSync(fd, buffer, 0, bytes, at))
}

/** A journal names payers, so only its owner may read it. */
export const OWNER_ONLY = 0o600

interface OlderFile {
  readonly path: string
  readonly bytes: number
  /** `svc audit` has read all of it. */
  readonly isAudited: boolean
}

/** Renames `runs.jsonl` to `runs.000007.jsonl`, one number higher than the last. */
export function rotate(path: string): Promise<void> {
  return rename(path, nextNumbered(path))
}

function nextNumbered(path: string): string {
  const [, last] = NUMBER.exec(olderFiles(path).at(-1) ?? '') ?? []
  const number = String(Number(last ?? 0) + 1).padStart(6, '0')
  const extension = extname(path)
  return `${path.slice(0, path.length - extension.length)}.${number}${extension}`
}

/** The last file stays: it has the number of the next line. */
export function dropOldest(path: string, bytesMax: number) {
  const auditedMs = auditedUntilMs(path)
  const kept = olderFiles(path).map(older => {
    const { size: bytes, mtimeMs } = statSync(older)
    return { path: older, bytes, isAudited: mtimeMs <= auditedMs }
  })
  const dropped: OlderFile[] = []
  while (kept.length > 1 && sumOf(kept) > bytesMax) {
    unlinkSync(kept[0]!.path)
    dropped.push(kept.shift()!)
  }
  return { dropped, kept }
}

export function sumOf(files: readonly OlderFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0)
}

export function olderFiles(path: string): readonly string[] {
  const [folder, name] = [dirname(path), basename(path)]
  const older = readdirSync(folder).filter(each => each !== name && journalOf(each) === name)
  return older.sort().map(each => join(folder, each))
}

const NUMBER = /\.(\d{6})(\.[^./\\]*)?$/

/** The journal that a file belongs to: `runs.jsonl` for `runs.000007.jsonl`. */
export function journalOf(path: string): string {
  return path.replace(NUMBER, '$2')
}

/** Up to when the journal was audited without a gap; before everything where it never was. */
export function auditedUntilMs(path: string): number {
  try {
    return Date.parse(readFileSync(`${path}.audited`, 'utf8').trim()) || Number.NEGATIVE_INFINITY
  } catch {
    return Number.NEGATIVE_INFINITY
  }
}

export async function markAudited(path: string, untilMs: number): Promise<void> {
  if (untilMs <= auditedUntilMs(path)) return
  await writeFile(`${path}.audited`, `${new Date(untilMs).toISOString()}\n`, { mode: OWNER_ONLY })
}
