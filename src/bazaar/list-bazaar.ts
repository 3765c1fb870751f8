/**
 * Reads a facilitator's index of resources: one page, or all of them. It is free and needs no key; the functions never throw. The
 * index is another party's: it may count wrongly, repeat a page, or never end. So the reading is bounded, and says whether it is
 * complete.
 */
import { sandboxUrl } from '#platform'
import { urlOf } from '../app/client/build-request.js'
import { exchangeOver, isSuccess, recordOf } from '../app/client/http-reply.js'
import { DEFAULT_FACILITATOR } from '../domain/network.js'
import { refuseUnknown } from '../domain/option-checks.js'
import { wakefulClock } from '../ports/clock.js'
import { type BazaarResource, type IndexPage, mentions, readIndexPage } from './read-index-page.js'

/** Whose index, and how it is asked. */
export interface WholeBazaarOptions {
  /** How many entries a page has: 1 to 100. @default 100 */
  readonly limit?: number
  /** The facilitator that is asked. @default in Node the environment variable `SVC_SANDBOX`, else {@link DEFAULT_FACILITATOR} */
  readonly facilitatorUrl?: string
  /** Sends the request. @default the global fetch, looked up at each call */
  readonly fetchImpl?: typeof fetch
}

/** Which page of whose index. */
export interface BazaarOptions extends WholeBazaarOptions {
  /** How many entries to pass over. @default 0 */
  readonly offset?: number
}

/** A page of the index, or why there is none: a facilitator that fails is an answer, not an exception. */
export type BazaarAnswer =
  | { readonly ok: true; readonly resources: readonly BazaarResource[] }
  | { readonly ok: false; readonly error: string }

/** All entries that were read; or why there are none. */
export type WholeBazaarAnswer =
  | {
      /** At least the first page could be read. */
      readonly ok: true
      /** The entries of all pages, each once. */
      readonly resources: readonly BazaarResource[]
      /** Whether the index was read to its end. */
      readonly complete: boolean
      /** Why it was not. */
      readonly stopped?: string
    }
  | { readonly ok: false; readonly error: string }

const LIMIT_MAX = 100
const TIMEOUT_MS = 10_000
const PAGES_MAX = 500
const ENTRIES_MAX = 20_000
const BYTES_MAX = 64 * 1024 * 1024
/** How many pages in a row may have no readable entry. An honest index may have a few. */
const UNREADABLE_PAGES_MAX = 10
const ALL_PAGES_MS = 120_000

/**
 * One page of the index, in the facilitator's order.
 *
 * @example
 * const page = await listBazaar({ limit: 20 })
 * if (page.ok) for (const { resourceUrl } of page.resources) console.log(resourceUrl)
 */
export async function listBazaar(options: BazaarOptions = {}): Promise<BazaarAnswer> {
  const { offset = 0 } = options
  if (!Number.isSafeInteger(offset) || offset < 0) return failed('offset is a whole number from 0')
  const read = await readPage(options, { offset })
  return read.ok ? { ok: true, resources: read.page.resources } : read
}

/**
 * The entries of one page whose texts contain the term. It filters on this machine: other pages may hold more.
 *
 * @example
 * const found = await findInBazaar('translate')
 */
export async function findInBazaar(term: string, options: BazaarOptions = {}): Promise<BazaarAnswer> {
  if (typeof term !== 'string') return failed('the term is a text')
  const page = await listBazaar(options)
  if (!page.ok) return page
  return { ok: true, resources: page.resources.filter(resource => mentions(resource, term)) }
}

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
    if (found.size > ENTRIES_MAX || bytes > BYTES_MAX)
      return stopped(`the index is larger than ${ENTRIES_MAX} entries or ${BYTES_MAX / 2 ** 20} MiB`)
    const next = nextStart(start, page)
    if (next === undefined) return { ok: true, resources: [...found.values()], complete: true }
    // Entries move while an index is read, so a page may repeat some of them. A page of nothing new leads nowhere.
    if (page.resources.length > 0 && news === 0) return stopped(`page ${pages} repeats what came before it`)
    if (emptyHanded >= UNREADABLE_PAGES_MAX)
      return stopped(`${emptyHanded} pages in a row have no entry that can be read`)
    if (next.cursor !== undefined && cursors.has(next.cursor))
      return stopped(`page ${pages} leads back to a page that was read`)
    if (next.cursor !== undefined) cursors.add(next.cursor)
    if (wakefulClock.monotonic() - begunMs > ALL_PAGES_MS)
      return stopped(`it was not at its end after ${ALL_PAGES_MS / 1_000} seconds`)
    start = next
  }
  return stopped(`the index has more than ${PAGES_MAX} pages`)
}

interface PageStart {
  readonly offset: number
  readonly cursor?: string
}

type PageRead =
  | { readonly ok: true; readonly page: IndexPage; readonly bytes: number }
  | { readonly ok: false; readonly error: string }

async function readPage(options: WholeBazaarOptions, start: PageStart): Promise<PageRead> {
  try {
    return await askForPage(options, start)
  } catch (cause) {
    return failed(cause instanceof Error ? cause.message : String(cause))
  }
}

async function askForPage(options: WholeBazaarOptions, { offset, cursor }: PageStart): Promise<PageRead> {
  refuseUnknown(options, ['limit', 'offset', 'facilitatorUrl', 'fetchImpl'])
  const { limit = LIMIT_MAX, facilitatorUrl, fetchImpl } = options
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) return failed(`limit is 1 to ${LIMIT_MAX}`)
  const base = urlOf(facilitatorUrl ?? sandboxUrl() ?? DEFAULT_FACILITATOR)
  const path = base.pathname.replace(/\/+$/, '')
  const from = cursor === undefined ? `offset=${offset}` : `cursor=${encodeURIComponent(cursor)}`
  const url = new URL(`${base.origin}${path}/discovery/resources?limit=${limit}&${from}`)
  const request = { url, method: 'GET', headers: { accept: 'application/json' } }
  const sent = await exchangeOver(fetchImpl, wakefulClock)(request, TIMEOUT_MS)
  if (sent.kind === 'lost') return failed(`${base.origin} did not answer (${sent.cause})`)
  const { reply } = sent
  if (!isSuccess(reply)) return failed(`${base.origin} answered ${reply.status}`)
  if (reply.oversized) return failed(`${base.origin} answered more than is read of one page`)
  // One listing that nests deep must not hide the others of its page.
  const page = readIndexPage(recordOf(reply, Number.POSITIVE_INFINITY))
  return page
    ? { ok: true, page, bytes: reply.bytes.length }
    : failed(`${base.origin} answered with no index`)
}

function failed(error: string) {
  return { ok: false, error } as const
}

function addNew(found: Map<string, BazaarResource>, resources: readonly BazaarResource[]): number {
  const before = found.size
  for (const resource of resources) {
    // A resource may have an entry for each network.
    const { resourceUrl, method, type, accepts } = resource
    const key = JSON.stringify([resourceUrl, method, type, accepts])
    if (!found.has(key)) found.set(key, resource)
  }
  return found.size - before
}

/** `undefined` at the end. A page may be shorter than it was asked to be, and is the last only where it says so or is empty. */
function nextStart({ offset, cursor: used }: PageStart, { entries, total, cursor }: IndexPage) {
  if (entries === 0) return undefined
  const read = offset + entries
  if (cursor !== undefined) return { offset: read, cursor }
  if (used !== undefined || (total !== undefined && read >= total)) return undefined
  return { offset: read }
}
