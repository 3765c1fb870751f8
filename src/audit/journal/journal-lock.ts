/**
 * One process writes to one journal. `runs.jsonl.lock` names the process, which touches the file every second.
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
  linkSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  type Stats,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { SvcError } from '../../domain/errors.js'
import { type Clock, every, systemClock } from '../../ports/clock.js'
import { OWNER_ONLY } from './journal-rotation.js'

interface Holder {
  readonly pid: number
  readonly host: string
  /** The namespace of process ids; undefined where the system has none. */
  readonly namespace?: string
  /** The start time of the process, in clock ticks of the system. */
  readonly began?: string
}

const TOUCH_MS = 1_000
const LEFT_BEHIND_MS = 5_000

export function lockJournal(path: string, clock: Clock) {
  const lockPath = `${path}.lock`
  let fd = take(lockPath)
  const stopTouching = every(clock, TOUCH_MS, () => {
    const now = new Date(systemClock.now())
    // By descriptor: this process must not touch a lock that another process has put in its place.
    futimes(fd, now, now, () => {})
  })
  const isOurs = () => {
    const there = statOf(lockPath)
    return there !== undefined && isSame(there, fstatSync(fd))
  }
  return {
    /** `retaken`: the lock file was gone and was made again; another process may have written meanwhile. */
    keep(): 'held' | 'retaken' {
      if (isOurs()) return 'held'
      const taken = take(lockPath)
      closeSync(fd)
      fd = taken
      return 'retaken'
    },
    release(): void {
      stopTouching()
      if (isOurs()) unlinkSync(lockPath)
      closeSync(fd)
    },
  }
}

export function isLocked(path: string): boolean {
  const found = statOf(`${path}.lock`)
  return found !== undefined && isAlive(holderIn(`${path}.lock`), found)
}

const ATTEMPTS_MAX = 3

function take(lockPath: string): number {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const fd = create(lockPath)
    if (fd !== undefined) return fd
    const found = statOf(lockPath)
    if (found === undefined) continue
    const holder = holderIn(lockPath)
    if (isAlive(holder, found)) throw locked(lockPath, holder)
    removeLeftBehind(lockPath, found)
  }
  throw locked(lockPath, undefined)
}

function create(lockPath: string): number | undefined {
  try {
    const fd = openSync(lockPath, 'wx', OWNER_ONLY)
    writeSync(fd, JSON.stringify(thisProcess()))
    return fd
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return undefined
    throw cause
  }
}

/** Two processes may find the same lock left behind; the rename succeeds for one of them. */
function removeLeftBehind(lockPath: string, found: Stats): void {
  const aside = `${lockPath}.${process.pid}`
  try {
    renameSync(lockPath, aside)
    const renamed = statSync(aside)
    // The other process was faster: this is its new lock, which may have the number of the file that it removed. It is put back.
    if (!isSame(renamed, found) || renamed.mtimeMs !== found.mtimeMs) linkSync(aside, lockPath)
    unlinkSync(aside)
  } catch (cause) {
    if (!['ENOENT', 'EEXIST'].includes((cause as NodeJS.ErrnoException).code ?? '')) throw cause
  }
}

function isAlive(holder: Holder | undefined, { mtimeMs }: Stats): boolean {
  const us = thisProcess()
  if (holder?.began !== undefined && holder.host === us.host && holder.namespace === us.namespace)
    return beganOf(holder.pid) === holder.began
  return Math.abs(systemClock.now() - mtimeMs) < LEFT_BEHIND_MS
}

function thisProcess(): Holder {
  const namespace = attempted(() => readlinkSync('/proc/self/ns/pid'))
  return { pid: process.pid, host: hostname(), namespace, began: beganOf(process.pid) }
}

/** Field 22 of `/proc/<pid>/stat` (proc(5)): clock ticks since the system's start. A name before it may have spaces. */
function beganOf(pid: number): string | undefined {
  const text = attempted(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  return text?.slice(text.lastIndexOf(')') + 2).split(' ')[19]
}

function holderIn(lockPath: string): Holder | undefined {
  const holder = attempted(() => JSON.parse(readFileSync(lockPath, 'utf8')))
  return Number.isSafeInteger(holder?.pid) && holder.pid > 0 ? holder : undefined
}

function attempted<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}

function isSame(a: Stats, b: Stats): boolean {
  return a.dev === b.dev && a.ino === b.ino
}

function locked(lockPath: string, holder: Holder | undefined): SvcError {
  const who = holder ? `process ${holder.pid} on ${holder.host}` : 'another process'
  return new SvcError(
    `The journal is written by ${who}, as ${lockPath} says. Give each process a journal of its own; the lock of a process that has ended is taken over at the latest ${LEFT_BEHIND_MS / 1_000} seconds later`,
    'journal_locked',
  )
}
