/**
 * One process writes to one journal: it makes `runs.jsonl.lock`, which can be made once, and touches it every second.
 *
 * Another process takes the lock over when its holder has ended. On Linux, in the same process namespace, it looks the holder
 * up by its id and its start time, because ids are used again. Elsewhere, such as in another container or on another host, a
 * lock that was not touched for five seconds counts as left behind. Its holder may only have been suspended, so a writer
 * checks before each write that the lock is still its own. On NFS that check may read a cached answer: there the lock holds between
 * the processes of one host alone.
 */
import {
  closeSync,
  fstatSync,
  futimes,
  openSync,
  readFileSync,
  readlinkSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { SvcError } from '../../domain/errors.js'
import { type Clock, systemClock } from '../../ports/clock.js'
import { every } from '../../ports/timeouts-and-aborts.js'
import { OWNER_ONLY } from './journal-rotation.js'

export interface JournalLock {
  /**
   * `held`: this process still has the lock. `retaken`: the lock file was gone and was made again; another process may have
   * written meanwhile.
   *
   * @throws SvcError `journal_locked` where another process has taken it over.
   */
  keep(): 'held' | 'retaken'
  release(): void
}

interface Holder {
  readonly pid: number
  readonly host: string
  /** The boot of the machine and the namespace of process ids; undefined where the system has none. */
  readonly place?: string
  /** The start time of the process, in clock ticks of the system: ids are used again. */
  readonly began?: string
}

const TOUCH_MS = 1_000
const LEFT_BEHIND_MS = 5_000

/** @throws SvcError `journal_locked`, and errors of the file system. */
export function lockJournal(path: string, clock: Clock): JournalLock {
  const lockPath = `${path}.lock`
  let fd = take(lockPath)
  const stopTouching = every(clock, TOUCH_MS, () => {
    const now = new Date(systemClock.now())
    // By descriptor: this process must not touch a lock that another process has put in its place.
    futimes(fd, now, now, () => {})
  })
  const isOwn = () => {
    const [there, own] = [statOf(lockPath), fstatSync(fd)]
    return there?.ino === own.ino && there.dev === own.dev
  }
  return {
    keep() {
      if (isOwn()) return 'held'
      const taken = take(lockPath)
      closeSync(fd)
      fd = taken
      return 'retaken'
    },
    release() {
      stopTouching()
      if (isOwn()) rmSync(lockPath)
      closeSync(fd)
    },
  }
}

/** Whether a living process holds the lock of this journal. */
export function isLocked(path: string): boolean {
  return holderOf(`${path}.lock`) !== undefined
}

function take(lockPath: string): number {
  const holder = holderOf(lockPath)
  if (holder !== undefined) throw locked(lockPath, holder)
  // If two processes find one lock left behind, the later may remove the first one's new lock: the first sees it before it writes.
  rmSync(lockPath, { force: true })
  try {
    const fd = openSync(lockPath, 'wx', OWNER_ONLY)
    writeSync(fd, JSON.stringify(thisProcess()))
    return fd
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
    throw locked(lockPath, holderOf(lockPath))
  }
}

/** Who holds the lock, in words; `undefined` where nobody does, or the holder has ended. */
function holderOf(lockPath: string): string | undefined {
  const there = statOf(lockPath)
  if (there === undefined) return undefined
  const holder = readHolder(lockPath)
  const isSeen = holder.began !== undefined && holder.place === thisProcess().place
  const isAlive = isSeen
    ? beganOf(holder.pid!) === holder.began
    : Math.abs(systemClock.now() - there.mtimeMs) < LEFT_BEHIND_MS
  return isAlive ? `process ${holder.pid} on ${holder.host}` : undefined
}

/** Nothing of it is known while its process is writing it. */
function readHolder(lockPath: string): Partial<Holder> {
  try {
    return JSON.parse(readFileSync(lockPath, 'utf8'))
  } catch {
    return {}
  }
}

function thisProcess(): Holder {
  return { pid: process.pid, host: hostname(), place: placeOf(), began: beganOf(process.pid) }
}

function placeOf(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() + readlinkSync('/proc/self/ns/pid')
  } catch {
    return undefined
  }
}

/** Field 22 of `/proc/<pid>/stat` (proc(5)): clock ticks since the system's start. A name before it may have spaces. */
function beganOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}

function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}

function locked(lockPath: string, holder = 'another process'): SvcError {
  return new SvcError(
    `The journal is written by ${holder}, as ${lockPath} says. Give each process a journal of its own; the lock of a process that has ended is taken over at the latest ${LEFT_BEHIND_MS / 1_000} seconds later`,
    'journal_locked',
  )
}
