/** Reads a facilitator's index of resources. It is free and needs no key; the functions never throw. */

import { sandboxUrl } from '#platform'
import { DEFAULT_FACILITATOR } from '../../domain/network.js'
import {
  type BazaarResource,
  type IndexPage,
  mentions,
  readIndexPage,
} from '../../domain/read-bazaar-index.js'
import { wakefulClock } from '../../ports/clock.js'
import { urlOf } from './build-request.js'
import { isSuccess, recordOf } from './read-response.js'
import { exchangeOver } from './send-request.js'

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

const LIMIT_MAX = 100
const TIMEOUT_MS = 10_000

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

export interface PageStart {
  readonly offset: number
  readonly cursor?: string
}

export type PageRead =
  | { readonly ok: true; readonly page: IndexPage; readonly bytes: number }
  | { readonly ok: false; readonly error: string }

export async function readPage(options: WholeBazaarOptions, start: PageStart): Promise<PageRead> {
  try {
    return await askForPage(options, start)
  } catch (cause) {
    return failed(cause instanceof Error ? cause.message : String(cause))
  }
}

async function askForPage(
  { limit = LIMIT_MAX, facilitatorUrl, fetchImpl }: WholeBazaarOptions,
  { offset, cursor }: PageStart,
): Promise<PageRead> {
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) return failed(`limit is 1 to ${LIMIT_MAX}`)
  const base = urlOf(facilitatorUrl ?? sandboxUrl() ?? DEFAULT_FACILITATOR)
  const path = base.pathname.replace(/\/+$/, '')
  const from = cursor === undefined ? `offset=${offset}` : `cursor=${encodeURIComponent(cursor)}`
  const url = new URL(`${base.origin}${path}/discovery/resources?limit=${limit}&${from}`)
  const request = { url, method: 'GET', headers: { accept: 'application/json' } }
  const sent = await exchangeOver(fetchImpl, wakefulClock)(request, TIMEOUT_MS)
  if (sent.kind === 'lost') return failed(`${base.origin} did not answer (${sent.cause})`)
  const { reply } = sent
  if (!isSuccess(reply) || reply.oversized) return failed(`${base.origin} answered ${reply.status}`)
  // One listing that nests deep must not hide the others of its page.
  const page = readIndexPage(recordOf(reply, Number.POSITIVE_INFINITY))
  return page
    ? { ok: true, page, bytes: reply.bytes.length }
    : failed(`${base.origin} answered with no index`)
}

function failed(error: string) {
  return { ok: false, error } as const
}
