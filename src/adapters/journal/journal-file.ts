/** One file that only grows, in whole lines that are on the disk when `append` resolves; and its older siblings. */
import { type FileHandle, open, readdir, rename } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'

export interface JournalFile {
  /** Ends on a line's end, and on the disk. */
  readonly bytes: number
  append(text: string): Promise<void>
  close(): Promise<void>
}

/** Payers are in it: it is for its owner's eyes. */
const MODE = 0o600
const NEWLINE = 0x0a

/** @param bytesMax is where the last append that went well ended: what a failed one left behind it is cut off. */
export async function openJournalFile(path: string, head: string, bytesMax?: number): Promise<JournalFile> {
  const file = await open(path, 'a+', MODE)
  if (bytesMax !== undefined) await file.truncate(Math.min(bytesMax, (await file.stat()).size))
  let { size: bytes } = await file.stat()
  const append = async (text: string) => {
    const buffer = Buffer.from(text)
    await file.appendFile(buffer)
    await file.datasync()
    bytes += buffer.length
  }
  // A process that was killed while writing has left half a line: what follows must not be glued to it.
  await append((await endsMidLine(file, bytes)) ? `\n${head}` : head)
  return {
    get bytes() {
      return bytes
    },
    append,
    close: () => file.close(),
  }
}

async function endsMidLine(file: FileHandle, bytes: number): Promise<boolean> {
  if (bytes === 0) return false
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, bytes - 1)
  return buffer[0] !== NEWLINE
}

/** Moves `runs.jsonl` to `runs.000007.jsonl`, after all that were moved before it. Nothing is ever deleted. */
export async function rotate(path: string): Promise<void> {
  const last = (await olderNumbers(path)).at(-1) ?? 0
  await rename(path, numbered(path, last + 1))
}

/** The journal's files in the order in which they were written, the present one last. */
export async function journalFiles(path: string): Promise<readonly string[]> {
  return [...(await olderNumbers(path)).map(number => numbered(path, number)), path]
}

async function olderNumbers(path: string): Promise<number[]> {
  const [folder, extension] = [dirname(path), extname(path)]
  const stem = `${basename(path, extension)}.`
  const names = await readdir(folder)
  return names
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
