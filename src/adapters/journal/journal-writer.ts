/**
 * Writes every ended call to a file for accounting, one JSON line for each. Calls are written and synced in groups, after
 * their answers: a process that is killed loses its last calls, and the audit reports their transactions without a run. One
 * process writes to one file, and locks it.
 */
import { SvcError } from '../../domain/errors.js'
import type { CallObserver } from '../../ports/call-observer.js'
import { type Cancel, type Clock, systemClock } from '../../ports/clock.js'
import type { JournalHeader } from '../../ports/journal-header.js'
import type { Logger } from '../../ports/logger.js'
import { beginJournalFile, type JournalFile, openJournalFile, rotate } from './journal-file.js'
import { headerLine, lostText, numberedLine, runText } from './journal-lines.js'
import { type JournalLock, lockJournal } from './journal-lock.js'

export interface JournalOptions {
  readonly path: string
  /** A file that would grow beyond this is set aside under a number, and a new one is begun. */
  readonly bytesMax: number
  readonly header: JournalHeader
  readonly logger: Logger
  readonly clock?: Clock
}

/** The condition of a journal, for the health check. */
export interface JournalCondition {
  /** Whether the last write succeeded. */
  readonly writable: boolean
  /** Calls that are not on the disk yet. */
  readonly waiting: number
  /** Calls that the journal could not keep since the process began. */
  readonly lost: number
}

export interface Journal extends CallObserver {
  readonly condition: () => JournalCondition
  /** Writes the calls that wait. A failure is logged and does not reject. */
  close(): Promise<void>
}

/** How long calls are collected before they are written together. */
const COLLECT_MS = 100
/** The pause after a failed write: the disk may be full for a while. */
const AFTER_FAILURE_MS = 1_000
/** The size of calls that may wait for a disk, about 100,000. Further calls are only counted, and their number is written. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024

/** @throws SvcError `journal_locked`, `journal_unwritable`: the file is locked, opened and written to before it returns. */
export function journal({ path, bytesMax, header, logger, clock = systemClock }: JournalOptions): Journal {
  const headerFor = (next: number) => headerLine(header, next, clock.now())
  const lock = lockedJournal(path, clock)
  let { bytes: bytesWell, isUsed, next } = begin()
  let waiting: string[] = []
  let waitingBytes = 0
  let lostUnwritten = 0
  let lost = 0
  let writable = true
  let isClosed = false
  let file: JournalFile | undefined
  let cancel: Cancel | undefined
  let writing: Promise<void> | undefined

  function begin() {
    try {
      return beginJournalFile(path, headerFor)
    } catch (cause) {
      lock.release()
      throw unwritable(path, cause)
    }
  }

  async function write(texts: readonly string[]): Promise<void> {
    if (lock.keep() === 'retaken') await beginAnew()
    file ??= await openJournalFile(path, bytesWell)
    let lines = numbered(texts)
    if (isUsed && file.bytes + Buffer.byteLength(lines) > bytesMax) {
      await closeFile()
      await rotate(path)
      await beginAnew()
      file = await openJournalFile(path, bytesWell)
      lines = numbered(texts)
    }
    await file.append(lines)
    bytesWell = file.bytes
    isUsed = true
    next += texts.length
  }

  /** Line numbers continue from the files: another process may have written to them. */
  async function beginAnew(): Promise<void> {
    await closeFile()
    ;({ bytes: bytesWell, isUsed, next } = beginJournalFile(path, headerFor))
  }

  async function closeFile(): Promise<void> {
    const closing = file
    file = undefined
    await closing?.close()
  }

  function numbered(texts: readonly string[]): string {
    return texts.map((text, at) => numberedLine(next + at, text)).join('')
  }

  /** One write at a time: calls that end meanwhile wait for the next. */
  async function writeWaiting(): Promise<boolean> {
    const [texts, bytes, missing] = [waiting, waitingBytes, lostUnwritten]
    if (texts.length === 0 && missing === 0) return true
    waiting = []
    try {
      await write(missing > 0 ? [...texts, lostText(missing)] : texts)
      waitingBytes -= bytes
      lostUnwritten -= missing
      writable = true
      return true
    } catch (err) {
      waiting = [...texts, ...waiting]
      writable = false
      logger.error({ err, path, calls: waiting.length, lost }, 'the journal could not be written')
      await closeFile().catch(() => {})
      return false
    }
  }

  function writeSoon(ms: number): void {
    cancel ??= clock.after(ms, () => {
      writing = writeWaiting().then(well => {
        cancel = undefined
        if (!well) writeSoon(AFTER_FAILURE_MS)
        else if (waiting.length > 0) writeSoon(COLLECT_MS)
      })
    })
  }

  return {
    condition: () => ({ writable, waiting: waiting.length, lost }),
    ended(call) {
      if (isClosed) {
        // Another process may have the file by now.
        lost++
        logger.error({ path, call: call.id, txId: call.txId }, 'a call ended after the journal was closed')
        return
      }
      const text = runText(call)
      if (waitingBytes + text.length > WAITING_BYTES_MAX) {
        lost++
        lostUnwritten++
      } else {
        waiting.push(text)
        waitingBytes += text.length
      }
      writeSoon(COLLECT_MS)
    },
    async close() {
      isClosed = true
      await writing
      cancel?.()
      cancel = undefined
      if (!(await writeWaiting())) {
        lost += waiting.length
        logger.error({ path, lost }, 'the journal ends without calls that it could not keep')
      }
      await closeFile().catch(() => {})
      lock.release()
    },
  }
}

/** @throws SvcError `journal_locked`, `journal_unwritable` */
function lockedJournal(path: string, clock: Clock): JournalLock {
  try {
    return lockJournal(path, clock)
  } catch (cause) {
    throw cause instanceof SvcError ? cause : unwritable(path, cause)
  }
}

function unwritable(path: string, cause: unknown): SvcError {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new SvcError(`The journal ${path} cannot be written: ${why}`, 'journal_unwritable')
}
