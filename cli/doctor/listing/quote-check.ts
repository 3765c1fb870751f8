/** Checks a 402 as an index reads it: its quote, the size of its header, and whether it is for this very resource. */
import { isPayable } from '../../../src/app/client/read-quote.js'
import type { HttpReply } from '../../../src/app/client/send-request.js'
import { textFromBase64 } from '../../../src/domain/base64.js'
import { deeperThan } from '../../../src/domain/json-depth.js'
import { type NetworkFacts, networkOf } from '../../../src/domain/network.js'
import { isLabel, TAGS_MAX } from '../../../src/domain/service-metadata.js'
import {
  decodeAnswerHeader,
  isRecord,
  PAYMENT_REQUIRED_HEADER,
  readRequirements,
  X402_VERSION,
} from '../../../src/domain/x402.js'
import { shown } from './request.js'
import type { Claimed } from './resource-list-check.js'

/** Proxies refuse larger headers: nginx allows 4 or 8 KiB by default, for all headers of an answer together. */
const HEADER_BYTES_MAX = 8_192

const DEPTH_MAX = 64

export type Quote = Record<string, unknown>

/** The quote of a 402, or what came instead. */
export function quoteIn(reply: HttpReply): { readonly quote: Quote } | { readonly why: string } {
  if (reply.status !== 402) return { why: `it answers ${reply.status} instead of 402` }
  const header = reply.headers.get(PAYMENT_REQUIRED_HEADER)
  if (header === null) return { why: `the 402 has no ${PAYMENT_REQUIRED_HEADER} header` }
  const quote = decodeAnswerHeader(header)
  if (quote === undefined) return { why: `${PAYMENT_REQUIRED_HEADER} is not base64 of a JSON object` }
  // What follows looks into it, level by level.
  const isDeep = deeperThan(textFromBase64(header.replaceAll('-', '+').replaceAll('_', '/')), DEPTH_MAX)
  return isDeep ? { why: `the quote is nested deeper than ${DEPTH_MAX} levels` } : { quote }
}

export function quoteProblems(
  reply: HttpReply,
  quote: Quote,
  claimed: Claimed,
  network: NetworkFacts,
): string[] {
  const { length } = reply.headers.get(PAYMENT_REQUIRED_HEADER)!
  const resource = isRecord(quote.resource) ? quote.resource : {}
  return [
    quote.x402Version === X402_VERSION ? [] : `x402Version is ${shown(quote.x402Version)}, not 2`,
    length <= HEADER_BYTES_MAX ? [] : `the header has ${length} bytes, more than ${HEADER_BYTES_MAX}`,
    isSame(resource.url, claimed.url)
      ? []
      : `resource.url is ${shown(resource.url)}: an index lists that, and not ${claimed.url.href}`,
    resourceProblems(resource),
    termsProblems(quote.accepts, claimed, network),
  ].flat()
}

function isSame(url: unknown, claimed: URL): boolean {
  return typeof url === 'string' && URL.canParse(url) && new URL(url).href === claimed.href
}

/** Clients that find more than this refuse the whole quote. */
function resourceProblems({ serviceName, tags, iconUrl }: Record<string, unknown>): string[] {
  const areTags = Array.isArray(tags) && tags.length <= TAGS_MAX && tags.every(isLabel)
  return [
    serviceName === undefined || isLabel(serviceName)
      ? []
      : 'resource.serviceName is not 1 to 32 characters of ASCII',
    tags === undefined || areTags ? [] : 'resource.tags are not up to 5 texts of 1 to 32 characters of ASCII',
    iconUrl === undefined || (typeof iconUrl === 'string' && iconUrl.length <= 2_048)
      ? []
      : 'resource.iconUrl is longer than 2048 characters',
  ].flat()
}

function termsProblems(accepts: unknown, { amount, asset, payTo }: Claimed, own: NetworkFacts): string[] {
  const entries: readonly unknown[] = Array.isArray(accepts) ? accepts : []
  const terms = entries
    .flatMap(entry => readRequirements(entry) ?? [])
    .find(entry => {
      const network = networkOf(entry.network, own)
      return network !== undefined && isPayable(entry, network)
    })
  if (terms === undefined) return ['no entry of accepts can be paid exactly in USDC on Algorand']
  const claims = { amount, asset, payTo }
  return Object.entries(claims)
    .filter(([field, claim]) => claim !== undefined && claim !== terms[field as keyof typeof claims])
    .map(([field, claim]) => {
      return `${field} is ${shown(terms[field as keyof typeof claims])}, and ${shown(claim)} in the list`
    })
}
