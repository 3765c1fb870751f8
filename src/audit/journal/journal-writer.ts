/**
 * Writes ended calls to a file for accounting: a JSON line for each that charged or may have charged, and the number of the
 * others once a minute. Lines are written and synced in groups, after the answers: a process that is killed loses its last calls,
 * and the audit reports their transactions without a run. One process writes to one file, and locks it.
 */
import { statSync } from 'node:fs'
import type { JournalCondition } from '../../app/server/server-environment.js'
import { SvcError } from '../../domain/errors.js'
import type { EndedCall } from '../../ports/call-observer.js'
import { type Cancel, type Clock, systemClock } from '../../ports/clock.js'
import type { Logger } from '../../ports/logger.js'
import {
  beginJournalFile,
  dropOldest,
  type JournalFile,
  journalOf,
  openJournalFile,
  rotate,
  sumOf,
} from './append-to-files.js'
import { fileBehind, lockJournal } from './journal-lock.js'
import {
  callCounts,
  headerLine,
  type JournalHeader,
  lineChoice,
  numberedLine,
  runText,
  streamText,
} from './line-format.js'

export interface JournalOptions {
  readonly path: string
  /** The bound of all files together. One that grows beyond an eighth of it is set aside under a number, and a new one is begun. */
  readonly bytesMax: number
  readonly header: JournalHeader
  readonly logger: Logger
  readonly clock?: Clock
}

export type Journal = ReturnType<typeof journal>

/** How many files a full journal has. The oldest file is deleted whole, so an eighth of the books goes at once. */
const FILES = 8
const COUNT_MS = 60_000
const COLLECT_MS = 100
/** The pause after a failed write: the disk may be full for a while. */
const AFTER_FAILURE_MS = 1_000
/** The size of calls that may wait for a disk, about 100,000. Further calls are only counted, and their number is written. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024

export function journal({ path: named, bytesMax, header, logger, clock = systemClock }: JournalOptions) {
  const path = fileBehind(named)
  if (journalOf(path) !== path) throw unwritable(path, 'six digits at its end are for files set aside')
  const headerFor = (next: number) => headerLine(header, next, clock.now())
  const fileBytesMax = Math.ceil(bytesMax / FILES)
  const lock = lockedJournal(path, clock)
  let { bytes: bytesWell, isUsed, next, ino } = begin()
  /** The file is not another process's, and has its header: nothing is cut off or added before. */
  let isBegun = true
  /** Ids of the calls whose streams are leaving: their charges are written. */
  const streaming = new Set<string>()
  const hasOwnLine = lineChoice()
  const counts = callCounts()
  let stopCounting: Cancel | undefined
  let waiting: string[] = []
  let waitingBytes = 0
  let [lost, lostUnwritten] = [0, 0]
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
    if (lock.keep() === 'retaken') isBegun = false
    const there = statSync(path, { throwIfNoEntry: false })
    // Another program may have moved the file or cut it, as logrotate does, or linked it: what went on into it could be lost.
    const isOurs = there?.ino === ino && there.size >= bytesWell && there.nlink < 2
    if (!isBegun || !isOurs) await beginAnew()
    file ??= await openJournalFile(path, bytesWell)
    let text = numbered(texts)
    const bytes = Buffer.byteLength(text)
    if (isUsed && file.bytes + bytes > fileBytesMax) {
      await closeFile()
      await rotate(path)
      isBegun = false
      dropBeyond(bytesMax - Math.max(fileBytesMax, bytes))
      await beginAnew()
      file = await openJournalFile(path, bytesWell)
      text = numbered(texts)
    }
    await file.append(text)
    bytesWell = file.bytes
    isUsed = true
    next += texts.length
  }

  /** A file that cannot be deleted stays, and the calls are written. */
  function dropBeyond(olderBytesMax: number): void {
    try {
      const { dropped, kept } = dropOldest(path, olderBytesMax)
      for (const { isAudited, ...file } of dropped)
        if (isAudited) logger.info(file, 'the oldest file of the journal was deleted (maxBytes)')
        else
          logger.warn(
            file,
            'the oldest file of the journal was deleted (maxBytes), and svc audit never read it',
          )
      const [next] = kept
      if (kept.length > 1 && !next!.isAudited && sumOf(kept) + fileBytesMax > olderBytesMax)
        logger.warn(
          { path: next!.path },
          'the journal is full (maxBytes): this file is deleted next, and svc audit has not read it',
        )
    } catch (err) {
      logger.error({ err, path }, 'the oldest file of the journal could not be deleted')
    }
  }

  /** Line numbers continue from the files: another process may have written to them. */
  async function beginAnew(): Promise<void> {
    await closeFile()
    ;({ bytes: bytesWell, isUsed, next, ino } = beginJournalFile(path, headerFor, next))
    isBegun = true
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
      await write(missing > 0 ? [...texts, JSON.stringify({ lost: missing })] : texts)
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

  function addCounts(): void {
    stopCounting?.()
    stopCounting = undefined
    const line = counts.take()
    if (line.counted.length > 0) add(JSON.stringify(line))
  }

  function add(text: string): void {
    if (waitingBytes + text.length > WAITING_BYTES_MAX) {
      lost++
      lostUnwritten++
    } else {
      waiting.push(text)
      waitingBytes += text.length
    }
    writeSoon(COLLECT_MS)
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
    condition: (): JournalCondition => ({ writable, waiting: waiting.length, lost }),
    ended(call: EndedCall): void {
      const isOfStream = streaming.delete(call.id)
      if (!isOfStream && !hasOwnLine(call)) {
        if (isClosed) return
        counts.add(call)
        stopCounting ??= clock.after(COUNT_MS, addCounts)
        return
      }
      if (isClosed) {
        // Another process may have the file by now.
        lost++
        logger.error({ path, call: call.id, txId: call.txId }, 'a call ended after the journal was closed')
        return
      }
      add(isOfStream ? streamText(call) : runText(call))
    },
    streaming(call: EndedCall): void {
      if (isClosed || !hasOwnLine(call)) return
      streaming.add(call.id)
      add(runText({ ...call, streaming: true }))
    },
    async close(): Promise<void> {
      addCounts()
      isClosed = true
      await writing
      cancel?.()
      if (!(await writeWaiting())) {
        lost += waiting.length
        logger.error({ path, lost }, 'the journal ends without calls that it could not keep')
      }
      await closeFile().catch(() => {})
      lock.release()
    },
  }
}

function lockedJournal(path: string, clock: Clock) {
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
