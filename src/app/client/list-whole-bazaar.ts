/**
 * Reads all pages of a facilitator's index. The index is another party's: it may count wrongly, repeat a page, or never
 * end. So the reading is bounded, and says whether it is complete.
 */
import type { BazaarResource, IndexPage } from '../../domain/read-bazaar-index.js'
import { wakefulClock } from '../../ports/clock.js'
import { type PageStart, readPage, type WholeBazaarOptions } from './search-bazaar.js'

/** All entries that were read; or why there are none. */
export type WholeBazaarAnswer =
  | {
      /** At least the first page could be read. */
      readonly ok: true
      /** Without the entries that an earlier page had. */
      readonly resources: readonly BazaarResource[]
      /** Whether the index was read to its end. */
      readonly complete: boolean
      /** Why it was not. */
      readonly stopped?: string
    }
  | { readonly ok: false; readonly error: string }

const PAGES_MAX = 500
const ENTRIES_MAX = 20_000
const BYTES_MAX = 64 * 1024 * 1024
/** How many pages in a row may have no readable entry. An honest index may have a few. */
const UNREADABLE_PAGES_MAX = 10
const ALL_PAGES_MS = 120_000

/**
 * The whole index, page by page, in the facilitator's order: at most 500 pages, 20,000 entries, 64 MiB and two minutes.
 *
 * @example
 * const index = await listWholeBazaar()
 * if (index.ok && !index.complete) console.warn(index.stopped)
 */
export async function listWholeBazaar(options: WholeBazaarOptions = {}): Promise<WholeBazaarAnswer> {
  const found = new Map<string, BazaarResource>()
  const cursors = new Set<string>()
  let start: PageStart = { offset: 0 }
  let bytes = 0
  let emptyHanded = 0
  const begunMs = wakefulClock.monotonic()
  const stopped = (why: string) =>
    ({ ok: true, resources: [...found.values()], complete: false, stopped: why }) as const

  for (let pages = 1; pages <= PAGES_MAX; pages++) {
    const read = await readPage(options, start)
    if (!read.ok) return pages === 1 ? read : stopped(`page ${pages}: ${read.error}`)
    const { page } = read
    const news = addNew(found, page.resources)
    emptyHanded = page.resources.length === 0 ? emptyHanded + 1 : 0
    bytes += read.bytes
    if (found.size > ENTRIES_MAX || bytes > BYTES_MAX) {
      return stopped(`the index is larger than ${ENTRIES_MAX} entries or ${BYTES_MAX / 2 ** 20} MiB`)
    }
    const next = nextStart(start, page)
    if (next === undefined) return { ok: true, resources: [...found.values()], complete: true }
    // Entries move while an index is read, so a page may repeat some of them. A page of nothing new leads nowhere.
    if (page.resources.length > 0 && news === 0) return stopped(`page ${pages} repeats what came before it`)
    if (emptyHanded >= UNREADABLE_PAGES_MAX) {
      return stopped(`${emptyHanded} pages in a row have no entry that can be read`)
    }
    if (next.cursor !== undefined && cursors.has(next.cursor)) {
      return stopped(`page ${pages} leads back to a page that was read`)
    }
    if (next.cursor !== undefined) cursors.add(next.cursor)
    if (wakefulClock.monotonic() - begunMs > ALL_PAGES_MS) {
      return stopped(`it was not at its end after ${ALL_PAGES_MS / 1_000} seconds`)
    }
    start = next
  }
  return stopped(`the index has more than ${PAGES_MAX} pages`)
}

function addNew(found: Map<string, BazaarResource>, resources: readonly BazaarResource[]): number {
  const before = found.size
  for (const resource of resources) {
    const key = keyOf(resource)
    if (!found.has(key)) found.set(key, resource)
  }
  return found.size - before
}

/** A resource may have an entry for each network. */
function keyOf({ resourceUrl, method, type, accepts }: BazaarResource): string {
  return JSON.stringify([resourceUrl, method, type, accepts])
}

/** `undefined` at the end. A page may be shorter than it was asked to be, and is the last only where it says so or is empty. */
function nextStart({ offset, cursor: used }: PageStart, { entries, total, cursor }: IndexPage) {
  if (entries === 0) return undefined
  const read = offset + entries
  if (cursor !== undefined) return { offset: read, cursor }
  if (used !== undefined || (total !== undefined && read >= total)) return undefined
  return { offset: read }
}
