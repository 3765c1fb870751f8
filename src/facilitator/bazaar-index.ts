import { LRUCache } from 'lru-cache'
import { SvcError } from '../domain/errors.js'
import { isWebUrl } from '../domain/untrusted-text.js'
import { isRecord, recordAt, X402_VERSION } from '../domain/x402.js'

const RESOURCES_MAX = 1_000
const DESCRIPTION_BYTES_MAX = 16_384
const EXTRA_LENGTH_MAX = 1_024
const TEXT_LENGTH_MAX = 1_000
const TAGS_MAX = 5
const LIMIT_DEFAULT = 20
const LIMIT_MAX = 100
const LISTING_BYTES_MAX = 32_768
const PAGE_BYTES_MAX = 60_000

interface Listing {
  readonly resource: string
  readonly type: string
  readonly accepts: readonly Record<string, unknown>[]
  readonly [key: string]: unknown
}

export type BazaarIndex = ReturnType<typeof createBazaarIndex>

export function createBazaarIndex(nowMs: () => number) {
  const listings = new LRUCache<string, { readonly listing: Listing; readonly bytes: number }>({
    max: RESOURCES_MAX,
  })
  return {
    /** Lists the resource of a valid payment; `false` where the payment describes no resource that can be listed. */
    add(payload: unknown, requirements: unknown): boolean {
      const listing = listingOf(payload, requirements, nowMs())
      const bytes = Buffer.byteLength(JSON.stringify(listing) ?? '')
      if (!listing || bytes > LISTING_BYTES_MAX) return false
      listings.set(listing.resource, { listing, bytes })
      return true
    },
    list(query: URLSearchParams): object {
      const limit = countIn(query, 'limit', LIMIT_DEFAULT, 1, LIMIT_MAX)
      const offset = countIn(query, 'offset', 0, 0, Number.MAX_SAFE_INTEGER)
      const found = [...listings.values()].filter(({ listing }) => matches(listing, query))
      const items: Listing[] = []
      let pageBytes = 0
      for (const { listing, bytes } of found.slice(offset, offset + limit)) {
        pageBytes += bytes
        if (pageBytes > PAGE_BYTES_MAX) break
        items.push(listing)
      }
      // A client adds the limit to the offset, and must not pass over what this page had no room for.
      const isCut = items.length < Math.min(limit, found.length - offset)
      return {
        x402Version: X402_VERSION,
        items,
        pagination: { limit: isCut ? items.length : limit, offset, total: found.length },
      }
    },
  }
}

function listingOf(payload: unknown, requirements: unknown, nowMs: number): Listing | undefined {
  const resource = recordAt(payload, 'resource')
  const url = isWebUrl(resource?.url) ? new URL(resource.url) : undefined
  const bazaar = recordAt(payload, 'extensions', 'bazaar')
  const input = recordAt(bazaar, 'info', 'input')
  if (!isRecord(requirements) || !resource || !url || !input) return undefined
  if (JSON.stringify(bazaar).length > DESCRIPTION_BYTES_MAX) return undefined
  const listing = {
    resource: url.origin + url.pathname,
    type: input.type === 'mcp' ? 'mcp' : 'http',
    x402Version: X402_VERSION,
    accepts: [termsOf(requirements)],
    lastUpdated: new Date(nowMs).toISOString(),
    ...textsOf(resource, ['description', 'mimeType', 'serviceName', 'iconUrl']),
    ...tagsOf(resource),
    extensions: { bazaar },
  }
  // A copy: the shortened texts would keep the whole ones in memory.
  return JSON.parse(JSON.stringify(listing))
}

/** What clients choose by. Of all else that a stranger writes into the requirements nothing is kept. */
function termsOf(requirements: Record<string, unknown>): Record<string, unknown> {
  const { maxTimeoutSeconds, extra } = requirements
  const isShort = isRecord(extra) && JSON.stringify(extra).length <= EXTRA_LENGTH_MAX
  return {
    ...textsOf(requirements, ['scheme', 'network', 'amount', 'asset', 'payTo']),
    ...(typeof maxTimeoutSeconds === 'number' && { maxTimeoutSeconds }),
    ...(isShort && { extra }),
  }
}

function matches(listing: Listing, query: URLSearchParams): boolean {
  const type = query.get('type')
  if (type !== null && type !== listing.type) return false
  return ['payTo', 'scheme', 'network'].every(key => {
    const wanted = query.get(key)
    return wanted === null || listing.accepts.some(terms => terms[key] === wanted)
  })
}

function textsOf(source: Record<string, unknown>, keys: readonly string[]): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const key of keys) {
    const value = source[key]
    if (typeof value === 'string') texts[key] = value.slice(0, TEXT_LENGTH_MAX)
  }
  return texts
}

function tagsOf({ tags }: Record<string, unknown>): { readonly tags?: readonly string[] } {
  if (!Array.isArray(tags)) return {}
  const texts = tags.slice(0, TAGS_MAX).filter(tag => typeof tag === 'string')
  return { tags: texts.map(tag => tag.slice(0, TEXT_LENGTH_MAX)) }
}

function countIn(query: URLSearchParams, key: string, fallback: number, min: number, max: number): number {
  const text = query.get(key)
  if (text === null) return fallback
  const count = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (count >= min && count <= max) return count
  throw new SvcError(`${key} is a whole number from ${min} to ${max}`, 'invalid_query', 400)
}
