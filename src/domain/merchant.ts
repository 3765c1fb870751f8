/**
 * Who sells, as indexes list the seller: the extension `x402-merchant` of a 402. Without it, an index reads the Open Graph tags
 * of the origin's landing page.
 */
import { shown } from './errors.js'
import { refuseUnknown } from './options.js'
import { isWebUrl } from './web-url.js'
import { isRecord } from './x402.js'

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

const FIELDS = ['name', 'website', 'logo', 'categories']

/** A checked copy; `undefined` where none is given. */
export function checkedMerchant(given: unknown, refuse: (why: string) => never): Merchant | undefined {
  if (given === undefined) return undefined
  if (!isRecord(given)) return refuse(`merchant is { name, website, logo, categories }, not ${shown(given)}`)
  refuseUnknown(given, FIELDS, 'merchant', refuse)
  const { name, website, logo, categories } = given
  if (!isText(name)) return refuse(`merchant.name is a text, not ${shown(name)}`)
  for (const [field, url] of Object.entries({ website, logo })) {
    if (url !== undefined && !isWebUrl(url))
      refuse(`merchant.${field} is an absolute http or https URL, not ${shown(url)}`)
  }
  if (categories !== undefined && !(Array.isArray(categories) && categories.every(isText)))
    refuse('merchant.categories is not a list of texts')
  return Object.freeze({
    name,
    ...(website !== undefined && { website: website as string }),
    ...(logo !== undefined && { logo: logo as string }),
    ...(categories !== undefined && { categories: Object.freeze([...(categories as string[])]) }),
  })
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

const URI = { type: 'string', format: 'uri' } as const

const SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    name: { type: 'string' },
    website: URI,
    logo: URI,
    categories: { type: 'array', items: { type: 'string' } },
  },
  required: ['name'],
} as const

/** The extensions of every 402 of this seller. */
export function merchantExtension(merchant: Merchant | undefined): Record<string, unknown> | undefined {
  return merchant && { 'x402-merchant': { info: merchant, schema: SCHEMA } }
}
