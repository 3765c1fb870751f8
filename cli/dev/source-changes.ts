/** Notices changes of an agent's own sources: the files that it has imported, wherever they are, and no others. */
import { existsSync } from 'node:fs'
import { dirname, sep } from 'node:path'
import { watch } from 'chokidar'

export type SourceChanges = Awaited<ReturnType<typeof sourceChanges>>

/** Waits this long without a change: editors write in several steps, and a checkout changes many files. */
const QUIET_MS = 100

export async function sourceChanges(entry: string) {
  const sources = new Set([entry])
  let quiet: NodeJS.Timeout | undefined
  let changed = false
  let tell: (() => void) | undefined

  function notice(path: string): void {
    if (!sources.has(path)) return
    clearTimeout(quiet)
    quiet = setTimeout(() => {
      changed = true
      tell?.()
    }, QUIET_MS)
  }

  // Folders, because many editors replace a file by another: who watches the file itself sees the old one go, and no more.
  const watcher = watch(dirname(entry), { depth: 0 })
  const folders = new Set([dirname(entry)])
  const absent = new Set<string>()
  watcher.on('all', (event, path) => {
    // What a folder has when it is first read is no change, but for a file that was awaited.
    if (event === 'add' && !absent.delete(path)) return
    if (event === 'unlink') absent.add(path)
    if (event !== 'addDir') return notice(path)
    if (folders.has(path) || ![...absent].some(awaited => awaited.startsWith(path + sep))) return
    folders.add(path)
    // A folder that comes is watched by its name, and not yet for what is in it.
    watcher.unwatch(path)
    watcher.add(path)
  })
  // A system that allows no more watches: what is watched already still is.
  watcher.on('error', () => {})
  await new Promise<void>(resolve => watcher.once('ready', () => resolve()))

  return {
    /** Watches a file from now on; it need not be there yet. */
    add(path: string): void {
      if (sources.has(path)) return
      sources.add(path)
      if (!existsSync(path)) absent.add(path)
      watcher.add(dirname(path))
    },
    /** Resolves at the next change, or at once if a change has not been reported yet. */
    async next(): Promise<void> {
      if (!changed) {
        await new Promise<void>(resolve => {
          tell = resolve
        })
      }
      changed = false
    },
    close(): void {
      clearTimeout(quiet)
      void watcher.close()
    },
  }
}
