/**
 * Notices changed sources: code and JSON in the entry's folder and below. Ignores installed, built and hidden files,
 * and other kinds of files, which the agent itself may write.
 */
import { type Dirent, type FSWatcher, readdirSync, watch } from 'node:fs'
import { extname, join } from 'node:path'

export interface SourceChanges {
  /** Resolves at the next change, or at once if a change has not been reported yet. */
  next(): Promise<void>
  close(): void
}

const SOURCES = new Set(['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json'])
const FOREIGN = new Set(['node_modules', 'dist', 'build', 'coverage'])
/** Waits this long without a change: editors write in several steps, and a checkout changes many files. */
const QUIET_MS = 100
/** The system allows few watches, and an entry in a home folder has many folders below it. */
const FOLDERS_MAX = 500

export function sourceChanges(root: string): SourceChanges {
  const watchers = new Map<string, FSWatcher>()
  let quiet: NodeJS.Timeout | undefined
  let changed = false
  let tell: (() => void) | undefined

  function notice(): void {
    clearTimeout(quiet)
    quiet = setTimeout(() => {
      changed = true
      tell?.()
    }, QUIET_MS)
  }

  function watchFolder(folder: string): void {
    if (watchers.has(folder) || watchers.size >= FOLDERS_MAX) return
    const watcher = watch(folder, (_, name) => {
      const known = watchers.size
      watchBelow(folder)
      if (name === null || isSource(name) || watchers.size > known) notice()
    })
    watcher.once('error', () => forget(folder))
    watchers.set(folder, watcher)
    watchBelow(folder)
  }

  function watchBelow(folder: string): void {
    for (const entry of entriesOf(folder)) {
      if (entry.isDirectory() && !isForeign(entry.name)) watchFolder(join(folder, entry.name))
    }
  }

  function forget(folder: string): void {
    watchers.get(folder)?.close()
    watchers.delete(folder)
  }

  watchFolder(root)
  return {
    async next() {
      if (!changed) {
        await new Promise<void>(resolve => {
          tell = resolve
        })
      }
      changed = false
    },
    close() {
      clearTimeout(quiet)
      for (const folder of [...watchers.keys()]) forget(folder)
    },
  }
}

/** A folder may be deleted before its event arrives. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

function isForeign(name: string): boolean {
  return name.startsWith('.') || FOREIGN.has(name)
}

function isSource(name: string): boolean {
  return !isForeign(name) && SOURCES.has(extname(name))
}
