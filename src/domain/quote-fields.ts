/** What a seller adds to a quote: fields in `accepts[].extra`, how indexes show the service, and who sells. */
import { shown } from './errors.js'
import {
  holding,
  invalid,
  listOf,
  matching,
  type Option,
  optional,
  present,
  readOptions,
  such,
} from './option-checks.js'
import { isText, isWebUrl } from './untrusted-text.js'
import type { Subscription } from './window-and-balance-terms.js'
import { isRecord } from './x402.js'

/**
 * Fields that a seller adds to `accepts[].extra` of a quote. A facilitator gets them too, when it verifies and when it
 * settles: an index that counts payments by such a field reads it at settlement, and never afterwards.
 *
 * @example
 * const extra = { tag: 'x402-global-challenge', weight: 2, beta: true }
 */
export type QuoteExtra = Readonly<Record<string, string | number | boolean>>

/** What a quote says of the window that it sells, so that a payer knows what the price buys: such as `30d`, and a count of calls. */
export function windowFields(sold: Subscription | undefined) {
  if (sold === undefined) return undefined
  const { period, calls } = sold
  return { subscriptionPeriod: period, ...(calls !== undefined && { subscriptionCalls: calls }) }
}

/** Names that have a meaning for payers, of x402 and its schemes and of {@link windowFields}. */
const RESERVED: ReadonlySet<string> = new Set([
  ...['feePayer', 'decimals', 'name', 'version', 'paymentFlow', 'assetTransferMethod'],
  ...['subscriptionPeriod', 'subscriptionCalls', 'balancePeriod'],
])

export const quoteExtra: Option<QuoteExtra | undefined> = given => {
  if (given === undefined) return undefined
  if (!isRecord(given))
    throw invalid(`extra is an object of texts, numbers and booleans, not ${shown(given)}`)
  for (const [name, value] of Object.entries(given)) {
    if (name === '') throw invalid('extra has a field without a name')
    if (RESERVED.has(name)) throw invalid(`extra.${name} has a meaning for payers; choose another name`)
    const isPlain = ['string', 'boolean'].includes(typeof value) || Number.isFinite(value)
    if (!isPlain) throw invalid(`extra.${name} is text, a finite number or a boolean, not ${shown(value)}`)
  }
  return Object.keys(given).length === 0 ? undefined : (Object.freeze({ ...given }) as QuoteExtra)
}

/**
 * How indexes show a seller's service: the fields `serviceName`, `tags` and `iconUrl` of a quote's `resource`. The bounds are
 * those of `@x402/extensions` 2.27. Indexes leave out what does not fit, and `@x402/core`'s schema refuses the whole quote.
 * Every quote of an agent has these two.
 */
export interface ServiceMetadata {
  readonly serviceName?: string
  readonly iconUrl?: string
}

export const TAGS_MAX = 5
const LABEL = /^[\x20-\x7e]{1,32}$/

const webUrl = optional(such<string>(isWebUrl, 'an absolute http or https URL of at most 2048 characters'))

export const SERVICE = {
  serviceName: optional(matching(LABEL, '1 to 32 printable ASCII characters')),
  iconUrl: webUrl,
} satisfies Record<keyof ServiceMetadata, Option<unknown>>

/** What indexes take for a name or a tag. */
export function isLabel(value: unknown): value is string {
  return typeof value === 'string' && LABEL.test(value)
}

/** The tags that indexes show: the first five that fit, each once, whatever its case. */
export function quotedTags(tags: readonly string[]): readonly string[] {
  const byCase = new Map<string, string>()
  for (const tag of tags) {
    const key = tag.toLowerCase()
    if (byCase.size < TAGS_MAX && isLabel(tag) && !byCase.has(key)) byCase.set(key, tag)
  }
  return [...byCase.values()]
}

/**
 * The seller, as indexes list it.
 *
 * @example
 * const merchant = {
 *   name: 'Harbour Data',
 *   website: 'https://harbour.example',
 *   logo: 'https://harbour.example/logo.png',
 *   categories: ['weather', 'shipping'],
 * }
 */
export interface Merchant {
  /** The seller's name. */
  readonly name: string
  /** The seller's web site, an absolute URL. @default none */
  readonly website?: string
  /** The address of a picture, an absolute URL. @default none */
  readonly logo?: string
  /** What the seller deals in, in words of the index. @default none */
  readonly categories?: readonly string[]
}

const MERCHANT = {
  name: such<string>(isText, 'a text'),
  website: webUrl,
  logo: webUrl,
  categories: optional(listOf(isText, 'a list of texts')),
} satisfies Record<keyof Merchant, Option<unknown>>

export const merchantOption = holding(MERCHANT, (given, name): Merchant | undefined =>
  given === undefined ? undefined : Object.freeze(present(readOptions(given as object, MERCHANT, name))),
)

const TEXT = { type: 'string' } as const
const URI = { type: 'string', format: 'uri' } as const

const SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { name: TEXT, website: URI, logo: URI, categories: { type: 'array', items: TEXT } },
  required: ['name'],
} as const

/** The extensions of every 402 of this seller. Without one, an index reads the Open Graph tags of the origin's landing page. */
export function merchantExtension(merchant: Merchant | undefined): Record<string, unknown> | undefined {
  return merchant && { 'x402-merchant': { info: merchant, schema: SCHEMA } }
}
