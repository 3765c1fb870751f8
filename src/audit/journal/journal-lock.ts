/**
 * One process writes to one journal. The folder `runs.jsonl.lock` has one file: its name says which process, which touches it every
 * second.
 *
 * Another process takes the lock over when its holder has ended. On Linux, in the same process namespace, it looks the holder
 * up by its id and its start time, because ids are used again. Elsewhere, such as in another container or on another host, a
 * lock that was not touched for five seconds counts as left behind. Its holder may only have been suspended, so a writer
 * checks before each write that the lock is still its own. On NFS that check may read a cached answer: there the lock holds between
 * the processes of one host alone.
 *
 * To take it over is to rename the very file that was found left behind: of many who found it, one succeeds. A lock that is one file of
 * a known name cannot be removed so: who is slow removes the new lock of who was fast.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  utimes,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { SvcError } from '../../domain/errors.js'
import { type Clock, every, systemClock } from '../../ports/clock.js'
import { systemRandom } from '../../ports/random.js'
import { OWNER_ONLY } from './append-to-files.js'

type Holder = NonNullable<ReturnType<typeof holderIn>>

const TOUCH_MS = 1_000
const LEFT_BEHIND_MS = 5_000

export function lockJournal(path: string, clock: Clock = systemClock) {
  const folder = `${path}.lock`
  let file = take(folder)
  const stopTouching = every(clock, TOUCH_MS, () => {
    const now = new Date(systemClock.now())
    utimes(file, now, now, () => {})
  })
  return {
    /** `retaken`: the lock was gone and was taken again; another process may have written meanwhile. */
    keep(): 'held' | 'retaken' {
      if (existsSync(file)) return 'held'
      file = take(folder)
      return 'retaken'
    },
    release(): void {
      stopTouching()
      rmSync(file, { force: true })
      removeEmpty(folder)
    },
  }
}

/** Where links lead, also to a file that is not there yet: who names it by a link finds its lock and its older files. */
export function fileBehind(path: string): string {
  try {
    return fileBehind(resolve(realpathSync(dirname(path)), readlinkSync(path)))
  } catch {
    return path
  }
}

export function isLocked(path: string): boolean {
  const holder = holderIn(`${path}.lock`)
  return holder !== undefined && isAlive(holder)
}

const ATTEMPTS_MAX = 3

function take(folder: string): string {
  // No name is used twice: who found an earlier lock of ours left behind renames that one, or none.
  const name = [...Object.values(thisProcess()), systemRandom.uuid()].join('@')
  const file = join(folder, name)
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const holder = holderIn(folder)
    if (holder !== undefined && isAlive(holder)) throw locked(folder, holder)
    if (holder === undefined ? create(folder, name) : takeOver(holder.file, file)) return file
  }
  throw locked(folder, undefined)
}

/** A folder takes the place of none or of an empty one, and never of one with a lock in it. */
function create(folder: string, name: string): boolean {
  const fresh = `${folder}.${systemRandom.uuid()}`
  try {
    mkdirSync(fresh, OWNER_ONLY | 0o100)
    writeFileSync(join(fresh, name), '', { mode: OWNER_ONLY })
    renameSync(fresh, folder)
    return true
  } catch (cause) {
    rmSync(fresh, { recursive: true, force: true })
    if (['ENOTEMPTY', 'EEXIST'].includes((cause as NodeJS.ErrnoException).code ?? '')) return false
    // Windows puts a folder in the place of none alone. An empty one is nobody's.
    if (removeEmpty(folder)) return false
    throw cause
  }
}

function takeOver(leftBehind: string, file: string): boolean {
  try {
    // First: from its first moment on it was touched lately.
    const now = new Date(systemClock.now())
    utimesSync(leftBehind, now, now)
    renameSync(leftBehind, file)
    return true
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw cause
  }
}

/** Whether it did so. A folder with a lock in it stays. */
function removeEmpty(folder: string): boolean {
  return attempted(() => rmdirSync(folder) ?? true) === true
}

function holderIn(folder: string) {
  const name = attempted(() => readdirSync(folder))?.[0]
  if (name === undefined) return undefined
  const file = join(folder, name)
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) return undefined
  const [pid = '', host = '', namespace = '', began = ''] = name.split('@')
  return { file, touchedMs: found.mtimeMs, pid, host, namespace, began }
}

function isAlive({ pid, host, namespace, began, touchedMs }: Holder): boolean {
  const us = thisProcess()
  if (began !== '' && host === us.host && namespace === us.namespace) return beganOf(pid) === began
  return Math.abs(systemClock.now() - touchedMs) < LEFT_BEHIND_MS
}

/** The namespace of process ids, and the start time, are empty where the system does not say. */
function thisProcess() {
  const pid = String(process.pid)
  const namespace = attempted(() => readlinkSync('/proc/self/ns/pid'))?.replace(/\D/g, '') ?? ''
  return { pid, host: hostname(), namespace, began: beganOf(pid) ?? '' }
}

/** Field 22 of `/proc/<pid>/stat` (proc(5)): clock ticks since the system's start. A name before it may have spaces. */
function beganOf(pid: string): string | undefined {
  const text = attempted(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  return text?.slice(text.lastIndexOf(')') + 2).split(' ')[19]
}

function attempted<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

function locked(folder: string, holder: Holder | undefined): SvcError {
  const who = holder ? `process ${holder.pid} on ${holder.host}` : 'another process'
  return new SvcError(
    `The journal is written by ${who}, as ${folder} says. Give each process a journal of its own; the lock of a process that has ended is taken over at the latest ${LEFT_BEHIND_MS / 1_000} seconds later`,
    'journal_locked',
  )
}
