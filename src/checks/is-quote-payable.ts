/**
 * Whether a 402 can be paid as it stands, and be listed by an index. `svc doctor --bazaar` asks it of an agent, and the reference
 * agent's x402-check of any endpoint.
 */
import { isIP } from 'node:net'
import { isValidAddress } from '../adapters/algorand/address.js'
import { isPublicAddress } from '../adapters/outbound/guarded-fetch.js'
import { type BazaarDeclaration, unlistable } from '../domain/bazaar-declaration.js'
import { fromBase64, textOf } from '../domain/bytes.js'
import { deeperThan } from '../domain/json.js'
import { parseBaseUnits } from '../domain/money.js'
import { type NetworkFacts, networkOf } from '../domain/network.js'
import { isPaid } from '../domain/price-for-display.js'
import { isLabel, TAGS_MAX } from '../domain/quote-fields.js'
import {
  decodeAnswerHeader,
  isRecord,
  memberAt,
  PAYMENT_REQUIRED_HEADER,
  type PaymentRequirements,
  readRequirements,
  recordAt,
  X402_VERSION,
} from '../domain/x402.js'
import { quoted } from './finding.js'

export type Quote = Record<string, unknown>

interface Reply {
  readonly status: number
  readonly headers: Headers
}

/** A way to pay in USDC, on a network that is known. */
export interface UsdcTerms {
  readonly entry: PaymentRequirements
  readonly network: NetworkFacts
}

const DEPTH_MAX = 64
const ENTRIES_MAX = 50
/**
 * Proxies refuse larger headers (nginx allows 4 or 8 KiB by default, for all headers of an answer together), and the payment sends
 * most of this back.
 */
const HEADER_BYTES_MAX = 8_192
/** A payment of ten rounds needs half a minute; the ledger keeps none for longer than 1000. */
const TIMEOUT_SECONDS_MIN = 15
const TIMEOUT_SECONDS_MAX = 2_800

/** Names that lead nowhere outside the network they are used in. */
const INNER_NAME = /(^|\.)(localhost|local|internal|intranet|lan|home|corp|test|invalid|home\.arpa)$/i

export function quoteIn({ status, headers }: Reply): { readonly quote: Quote } | { readonly why: string } {
  if (status >= 200 && status < 300) return { why: `it answers ${status}: it works without payment` }
  if (status !== 402) return { why: `it answers ${status} instead of 402` }
  const header = headers.get(PAYMENT_REQUIRED_HEADER)
  if (header === null) return { why: `the 402 has no ${PAYMENT_REQUIRED_HEADER} header` }
  const quote = decodeAnswerHeader(header)
  if (quote === undefined) return { why: `${PAYMENT_REQUIRED_HEADER} is not base64 of a JSON object` }
  // What follows looks into it, level by level.
  const isDeep = deeperThan(textOf(fromBase64(header.replaceAll('-', '+').replaceAll('_', '/'))), DEPTH_MAX)
  return isDeep ? { why: `the quote is nested deeper than ${DEPTH_MAX} levels` } : { quote }
}

export interface AskedQuote {
  readonly url: URL
  readonly method: string
  readonly reply: Reply
  /** The examiner's own network, which may be paid on beside the public ones. */
  readonly own?: NetworkFacts
}

/** The way to pay that a payer in USDC would take, and what is wrong, by what it concerns. */
export function judgedQuote(quote: Quote, { url, method, reply, own }: AskedQuote) {
  const terms = usdcTerms(quote, own)
  return {
    terms,
    problems: {
      form: formProblems(quote),
      resource: resourceProblems(quote, url),
      terms: terms ? termsProblems(terms) : [NOT_IN_USDC],
      delivery: deliveryProblems(reply),
      declaration: declarationProblems(quote, method),
    },
  }
}

/** Clients that find one of these refuse the whole quote. */
function formProblems({ x402Version, accepts, resource }: Quote): string[] {
  const version = x402Version === X402_VERSION ? [] : [`x402Version is ${quoted(x402Version)}, not 2`]
  if (!Array.isArray(accepts) || accepts.length === 0) version.push('accepts lists no way to pay')
  if (!isRecord(resource)) return [...version, 'there is no resource']
  const { serviceName, tags, iconUrl } = resource
  const areTags = Array.isArray(tags) && tags.length <= TAGS_MAX && tags.every(isLabel)
  return [
    version,
    serviceName === undefined || isLabel(serviceName)
      ? []
      : 'resource.serviceName is not 1 to 32 characters of ASCII',
    tags === undefined || areTags ? [] : 'resource.tags are not up to 5 texts of 1 to 32 characters of ASCII',
    iconUrl === undefined || (typeof iconUrl === 'string' && iconUrl.length <= 2_048)
      ? []
      : 'resource.iconUrl is longer than 2048 characters',
  ].flat()
}

/** An index lists what `resource.url` says, and payers with `strictResource` refuse another. Neither compares the query. */
function resourceProblems({ resource }: Quote, asked: URL): string[] {
  const named = memberAt(resource, 'url')
  const url = typeof named === 'string' && URL.canParse(named) ? new URL(named) : undefined
  const isSame = url?.origin === asked.origin && url.pathname === asked.pathname
  return isSame ? [] : [`resource.url is ${quoted(named)}, and not ${asked.href}`]
}

/** The way to pay that a payer in USDC would take; where nobody can pay any, the first. */
function usdcTerms({ accepts }: Quote, own?: NetworkFacts): UsdcTerms | undefined {
  const entries: readonly unknown[] = Array.isArray(accepts) ? accepts.slice(0, ENTRIES_MAX) : []
  const inUsdc = entries.flatMap(accepted => {
    const entry = readRequirements(accepted)
    const network = entry && networkOf(entry.network, own)
    return network && entry.asset === network.usdcId ? { entry, network } : []
  })
  return inUsdc.find(terms => termsProblems(terms).length === 0) ?? inUsdc[0]
}

export const NOT_IN_USDC = 'no entry of accepts is in USDC on Algorand'

function termsProblems({ entry, network }: UsdcTerms): string[] {
  const { amount, payTo, maxTimeoutSeconds, extra } = entry
  return [
    isPaid({ ...entry }) ? [] : 'its scheme is not "exact", or it takes the money before the work',
    entry.network === network.caip2 ? [] : `its network is ${quoted(entry.network)}, not ${network.caip2}`,
    parseBaseUnits(amount) === 0n ? 'its amount is zero' : [],
    isValidAddress(payTo) ? [] : `its payTo is ${quoted(payTo)}, not an address`,
    maxTimeoutSeconds >= TIMEOUT_SECONDS_MIN && maxTimeoutSeconds <= TIMEOUT_SECONDS_MAX
      ? []
      : `its maxTimeoutSeconds is ${maxTimeoutSeconds}, not ${TIMEOUT_SECONDS_MIN} to ${TIMEOUT_SECONDS_MAX}`,
    isValidAddress(extra?.feePayer)
      ? []
      : 'its extra.feePayer is missing or no address: callers would need ALGO for fees',
  ].flat()
}

function deliveryProblems({ headers }: Reply): string[] {
  const { length } = headers.get(PAYMENT_REQUIRED_HEADER) ?? ''
  const isStored = !/\bno-store\b/i.test(headers.get('cache-control') ?? '')
  return [
    length <= HEADER_BYTES_MAX ? [] : `the header has ${length} bytes, more than ${HEADER_BYTES_MAX}`,
    isStored ? 'a cache may keep the 402: it has no Cache-Control: no-store' : [],
  ].flat()
}

/** Why indexes would not list what the quote declares. Its schema is not compiled here: it may be a stranger's. */
function declarationProblems({ extensions }: Quote, method: string): string[] {
  const bazaar = recordAt(extensions, 'bazaar')
  if (!bazaar) return ['there is no extension bazaar: without it nothing is listed']
  const input = recordAt(bazaar, 'info', 'input')
  const schema = recordAt(bazaar, 'schema')
  if (!input || !schema) return ['bazaar has no info.input or no schema']
  const why = unlistable(bazaar as unknown as BazaarDeclaration)
  return [
    input.type === 'http' ? [] : `bazaar's info.input.type is ${quoted(input.type)}, not "http"`,
    input.method === method
      ? []
      : `bazaar declares ${quoted(input.method)}, and the endpoint takes ${method}`,
    method !== 'POST' || input.body !== undefined ? [] : "bazaar's example has no body",
    recordAt(schema, 'properties', 'input') ? [] : "bazaar's schema does not describe its input",
    why === undefined ? [] : `bazaar: ${why}`,
  ].flat()
}

export function reachProblems({ hostname, origin, protocol }: URL): string[] {
  const host = hostname.replace(/^\[|\]$/g, '')
  const isInner = isIP(host) === 0 ? INNER_NAME.test(host) : !isPublicAddress(host)
  return [
    isInner ? `${host} is an address of an inner network` : [],
    protocol === 'https:' ? [] : `${origin} is not https`,
  ].flat()
}
