/** Notices changes of an agent's own sources: the files that it has imported, wherever they are, and no others. */
import { dirname, sep } from 'node:path'
import { watch } from 'chokidar'
import { signatureOf } from './module-hooks.js'

export type SourceChanges = Awaited<ReturnType<typeof sourceChanges>>

/** Waits this long without a change: editors write in several steps, and a checkout changes many files. */
const QUIET_MS = 100

export async function sourceChanges(entry: string) {
  /** Each source, and what it was when it was imported: a file may change before this hears of it. */
  const sources = new Map([[entry, signatureOf(entry)]])
  let quiet: NodeJS.Timeout | undefined
  let changed = false
  let tell: (() => void) | undefined

  function notice(path: string): void {
    const signature = signatureOf(path)
    if (!sources.has(path) || sources.get(path) === signature) return
    sources.set(path, signature)
    clearTimeout(quiet)
    quiet = setTimeout(() => {
      changed = true
      tell?.()
    }, QUIET_MS)
  }

  // Folders, because many editors replace a file by another: who watches the file itself sees the old one go, and no more.
  const watcher = watch(dirname(entry), { depth: 0 })
  const folders = new Set([dirname(entry)])
  watcher.on('all', (event, path) => {
    if (event !== 'addDir') return notice(path)
    if (folders.has(path) || ![...sources.keys()].some(source => source.startsWith(path + sep))) return
    folders.add(path)
    // A folder that comes is watched by its name, and not yet for what is in it.
    watcher.unwatch(path)
    watcher.add(path)
  })
  // The system may allow no more watches: those that exist go on.
  watcher.on('error', () => {})
  await new Promise<void>(resolve => watcher.once('ready', () => resolve()))

  return {
    /** Watches a file from now on; it need not be there yet. */
    add(path: string, signature: string): void {
      if (sources.has(path)) return
      sources.set(path, signature)
      watcher.add(dirname(path))
      notice(path)
    },
    async next(): Promise<void> {
      const told = new Promise<void>(resolve => {
        tell = resolve
      })
      if (!changed) await told
      changed = false
    },
    close: () => {
      clearTimeout(quiet)
      void watcher.close()
    },
  }
}
