/**
 * Writes every ended call to a file, a JSON line each, for accounting. Calls are written and synced together, after their
 * answers: a process that is killed loses the last moments of its journal, and the audit finds their transactions without
 * a run. One process writes to one file.
 */
import type { Books } from '../../ports/books.js'
import type { Logger } from '../../ports/logger.js'
import type { Witness } from '../../ports/witness.js'
import { type JournalFile, openJournalFile, rotate } from './journal-file.js'

export interface JournalOptions {
  readonly path: string
  /** A file that would grow beyond this is set aside under a number, and a new one is begun. */
  readonly bytesMax: number
  readonly books: Books
  readonly logger: Logger
}

export interface Journal extends Witness {
  /** Writes what waits; resolves also where that fails, which is logged. */
  close(): Promise<void>
}

/** How long calls are collected before they are written together. */
const COLLECT_MS = 100
/** The disk may be full for a while. */
const AFTER_FAILURE_MS = 1_000
/** What may wait for a disk; about 100,000 calls. Calls beyond it are counted, and their number is written. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024

export function journal({ path, bytesMax, books, logger }: JournalOptions): Journal {
  const head = `${JSON.stringify(books)}\n`
  let waiting: string[] = []
  let waitingBytes = 0
  let lost = 0
  let file: JournalFile | undefined
  let bytesWell: number | undefined
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> | undefined

  async function write(text: string): Promise<void> {
    file ??= await openJournalFile(path, head, bytesWell)
    if (file.bytes > head.length && file.bytes + Buffer.byteLength(text) > bytesMax) {
      await file.close()
      file = undefined
      await rotate(path)
      bytesWell = undefined
      file = await openJournalFile(path, head)
    }
    await file.append(text)
    bytesWell = file.bytes
  }

  /** Never two at once: what comes meanwhile waits for the next. */
  async function writeWaiting(): Promise<boolean> {
    const [lines, bytes, missing] = [waiting, waitingBytes, lost]
    const text = lines.join('') + (missing > 0 ? `${JSON.stringify({ lost: missing })}\n` : '')
    if (text === '') return true
    waiting = []
    try {
      await write(text)
      waitingBytes -= bytes
      lost -= missing
      return true
    } catch (err) {
      waiting = [...lines, ...waiting]
      logger.error({ err, path, calls: waiting.length }, 'the journal could not be written')
      await file?.close().catch(() => {})
      file = undefined
      return false
    }
  }

  function writeSoon(ms: number): void {
    timer ??= setTimeout(() => {
      writing = writeWaiting().then(well => {
        timer = undefined
        if (!well) writeSoon(AFTER_FAILURE_MS)
        else if (waiting.length > 0) writeSoon(COLLECT_MS)
      })
    }, ms).unref()
  }

  return {
    ended(call) {
      const line = `${JSON.stringify({ ...call, timingsMs: call.timingsMs.map(toMicroseconds) })}\n`
      if (waitingBytes + line.length > WAITING_BYTES_MAX) lost++
      else {
        waiting.push(line)
        waitingBytes += line.length
      }
      writeSoon(COLLECT_MS)
    },
    async close() {
      await writing
      clearTimeout(timer)
      timer = undefined
      await writeWaiting()
      await file?.close()
      file = undefined
    },
  }
}

function toMicroseconds(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}
