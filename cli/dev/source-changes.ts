/**
 * Notices changed sources: code and JSON in the entry's folder and below. Ignores installed, built and hidden files,
 * and other kinds of files, which the agent itself may write.
 */
import type { Stats } from 'node:fs'
import { extname, relative, sep } from 'node:path'
import { watch } from 'chokidar'

export interface SourceChanges {
  /** Resolves at the next change, or at once if a change has not been reported yet. */
  next(): Promise<void>
  close(): void
}

const SOURCES = new Set(['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json'])
const FOREIGN = new Set(['node_modules', 'dist', 'build', 'coverage'])
/** Waits this long without a change: editors write in several steps, and a checkout changes many files. */
const QUIET_MS = 100
/** An entry may lie in a home folder, which has many folders below it. */
const DEPTH_MAX = 10

/** Watches from when it resolves: a change that comes while the folder is first read would go unseen. */
export async function sourceChanges(root: string): Promise<SourceChanges> {
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

  const ignored = (path: string, stats?: Stats) =>
    relative(root, path).split(sep).some(isForeign) ||
    (stats?.isFile() === true && !SOURCES.has(extname(path)))
  const watcher = watch(root, { ignored, ignoreInitial: true, depth: DEPTH_MAX })
  watcher.on('all', notice)
  // A system that allows no more watches: what is watched already still is.
  watcher.on('error', () => {})
  await new Promise<void>(resolve => watcher.once('ready', () => resolve()))

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
      void watcher.close()
    },
  }
}

function isForeign(name: string): boolean {
  return name.startsWith('.') || FOREIGN.has(name)
}
