/**
 * Reads a facilitator's index of paid resources. Facilitators differ in nearly every field. The reader keeps every field that it
 * understands, and skips an entry without an address, without terms, or nested too deep to be written again. All text is from
 * strangers.
 */
import { JSON_DEPTH_MAX, nestsDeeperThan } from '../domain/json.js'
import { fitsUrl, isText, primitiveText } from '../domain/untrusted-text.js'
import { isRecord, memberAt } from '../domain/x402.js'

/** A paid resource, as a facilitator lists it. All text is from strangers. */
export interface BazaarResource {
  /** The URL at which it is called. */
  readonly resourceUrl: string
  /**
   * The ways to pay, as the facilitator shows them. `amount` is present even where the facilitator names it
   * `maxAmountRequired`.
   */
  readonly accepts: readonly Readonly<Record<string, unknown>>[]
  /** The type of the resource, such as `http`. */
  readonly type?: string
  /** The HTTP method by which it is called, where the entry names it. */
  readonly method?: string
  /** What it does. */
  readonly description?: string
  /** Who offers it. */
  readonly serviceName?: string
  /** Its topics. */
  readonly tags?: readonly string[]
  /** When the entry was last renewed, in milliseconds since the epoch. */
  readonly lastUpdatedMs?: number
  /** How the resource is called. */
  readonly info?: Readonly<Record<string, unknown>>
}

/** One page of an index, and where its facilitator says that the next one begins. */
export interface IndexPage {
  readonly resources: readonly BazaarResource[]
  /** How many entries the page has, the skipped ones too: the next page begins after all of them. */
  readonly entries: number
  /** How many entries the whole index has. */
  readonly total?: number
  /** What the next page is asked for with; some facilitators count no offset. */
  readonly cursor?: string
}

/** Longer than any cursor that was seen, and short enough for a URL. */
const CURSOR_LENGTH_MAX = 1_024

/** `undefined` where the body is not an index. */
export function readIndexPage(body: unknown): IndexPage | undefined {
  if (!isRecord(body)) return undefined
  const entries: readonly unknown[] | undefined = [body.items, body.resources].find(Array.isArray)
  if (entries === undefined) return undefined
  const { total, cursor, nextCursor } = isRecord(body.pagination) ? body.pagination : body
  const next = [nextCursor, cursor].find(isText)
  return {
    resources: entries.flatMap(entry => readEntry(entry) ?? []),
    entries: entries.length,
    ...(Number.isSafeInteger(total) && { total: total as number }),
    ...(next !== undefined && next.length <= CURSOR_LENGTH_MAX && fitsUrl(next) && { cursor: next }),
  }
}

/** Whether the resource's own texts contain the term. */
export function mentions(resource: BazaarResource, term: string): boolean {
  const { resourceUrl, description = '', serviceName = '', tags = [] } = resource
  const wanted = term.trim().toLowerCase()
  return [resourceUrl, description, serviceName, ...tags].some(text => text.toLowerCase().includes(wanted))
}

function readEntry(entry: unknown): BazaarResource | undefined {
  if (!isRecord(entry) || !Array.isArray(entry.accepts)) return undefined
  if (nestsDeeperThan(entry, JSON_DEPTH_MAX)) return undefined
  const resourceUrl = [entry.resource, entry.resourceUrl, entry.url].find(isText)
  const accepts = entry.accepts.filter(isRecord).map(withAmount)
  if (resourceUrl === undefined || accepts.length === 0) return undefined
  const lastUpdatedMs = momentOf(entry.lastUpdated)
  const info = infoOf(entry, accepts)
  return {
    resourceUrl,
    accepts,
    ...textsOf(entry, ['type', 'method', 'description', 'serviceName']),
    ...(Array.isArray(entry.tags) && { tags: entry.tags.filter(isText) }),
    ...(lastUpdatedMs !== undefined && { lastUpdatedMs }),
    ...(info && { info }),
  }
}

function withAmount(terms: Record<string, unknown>): Record<string, unknown> {
  const amount = primitiveText(terms.amount ?? terms.maxAmountRequired)
  return amount === undefined ? terms : { ...terms, amount }
}

function infoOf(entry: Record<string, unknown>, accepts: readonly Record<string, unknown>[]) {
  const said = memberAt(entry, 'extensions', 'bazaar', 'info')
  return [said, entry.discoveryInfo, accepts[0]?.outputSchema, entry.metadata].find(isRecord)
}

/** Reads ISO text, or a number of seconds; numbers from the year 5138 on are milliseconds. */
function momentOf(value: unknown): number | undefined {
  const SECONDS_MAX = 1e11
  const ms =
    typeof value === 'number'
      ? value < SECONDS_MAX
        ? value * 1_000
        : value
      : Date.parse(primitiveText(value) ?? '')
  return Number.isFinite(ms) ? ms : undefined
}

function textsOf<Key extends string>(entry: Record<string, unknown>, keys: readonly Key[]) {
  const texts: { -readonly [key in Key]?: string } = {}
  for (const key of keys) if (isText(entry[key])) texts[key] = entry[key]
  return texts
}
