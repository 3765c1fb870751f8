/** Asks for one resource as indexes do: by GET whatever its method is, by its own method, and as a page of another origin. */
import { ajvValidator } from '../adapters/validation/ajv.js'
import type { HttpReply } from '../app/client/http-reply.js'
import { BAZAAR_BYTES_MAX } from '../domain/bazaar-declaration.js'
import type { JSONSchema } from '../domain/endpoint-schemas.js'
import type { NetworkFacts } from '../domain/network.js'
import type { Method } from '../domain/path-pattern.js'
import { isRecord, PAYMENT_REQUIRED_HEADER, PAYMENT_RESPONSE_HEADER } from '../domain/x402.js'
import { isAllowedOrigin, request } from './ask-as-index.js'
import { type Finding, failed, judged, ok, quoted, skipped } from './finding.js'
import { judgedQuote, type Quote, quoteIn, type UsdcTerms } from './is-quote-payable.js'
import type { Claimed } from './read-x402-list.js'

type Probed =
  | { readonly finding: Finding; readonly reply: HttpReply; readonly quote: Quote }
  | { readonly finding: Finding; readonly reply?: undefined; readonly quote?: undefined }

/** The findings, and the extensions that the quote declares; `undefined` where there is no quote. */
export async function resourceChecks(claimed: Claimed, network: NetworkFacts) {
  const { url, method } = claimed
  const path = url.pathname.length > 60 ? `${url.pathname.slice(0, 60)}…` : url.pathname
  const got = await probe(claimed, 'GET', path)
  const posted = method === 'GET' ? undefined : await probe(claimed, method, path)
  const own = posted ?? got
  const probes = [got.finding, ...(posted ? [posted.finding] : [])]
  if (!own.quote) {
    const unasked = ['quote', 'extensions', 'CORS'].map(check =>
      skipped(`${check} ${path}`, 'there is no quote'),
    )
    return { findings: [...probes, ...unasked], extensions: undefined }
  }
  const differs = got.quote && offerOf(got.quote) !== offerOf(own.quote)
  const { extensions } = own.quote
  const { terms, problems } = judgedQuote(own.quote, { url, method, reply: own.reply, own: network })
  const inQuote = [
    ...problems.form,
    ...problems.resource,
    ...problems.terms,
    ...(terms ? differencesFrom(claimed, terms) : []),
    ...problems.delivery,
    ...(differs
      ? [`GET and ${method} are quoted differently: an index has seen the one, and clients pay the other`]
      : []),
  ]
  return {
    findings: [
      ...probes,
      judged(
        `quote ${path}`,
        inQuote,
        QUOTE_CURE,
        `${own.reply.headers.get(PAYMENT_REQUIRED_HEADER)!.length} bytes`,
      ),
      judged(
        `extensions ${path}`,
        [...problems.declaration, ...contradictions(extensions)],
        'An index lists nothing whose declaration it cannot read. The start of the server warns of what is left out.',
        Object.keys(extensions ?? {}).join(', '),
      ),
      judged(
        `CORS ${path}`,
        [...exposureProblems(own.reply.headers), ...(await preflightProblems(url, method))],
        'Pages of other origins pay, too: set the option `cors`, and let no proxy remove these headers.',
        'any page can ask, pay and read the receipt',
      ),
    ],
    extensions,
  }
}

const QUOTE_CURE =
  'Behind a proxy, forward X-Forwarded-Proto and X-Forwarded-Host; say the same in the list and in the quote.'

const PROBE_CURES = {
  GET: 'Indexes look at every resource by GET, without a body: answer it with the 402 before anything is validated.',
  own: 'Answer a request without a body and without a payment with the 402: it asks for the price.',
} as const

async function probe({ url }: Claimed, method: Method, path: string): Promise<Probed> {
  const cure = PROBE_CURES[method === 'GET' ? method : 'own']
  const check = `${method} ${path}`
  const asked = await request(url, method)
  if ('why' in asked) return { finding: failed(check, asked.why, cure) }
  const { reply } = asked
  const read = quoteIn(reply)
  if ('why' in read) return { finding: failed(check, read.why, cure) }
  return { finding: ok(check, 'is quoted'), reply, quote: read.quote }
}

function offerOf({ resource, accepts }: Quote): string {
  return JSON.stringify({ resource, accepts })
}

function exposureProblems(headers: Headers): string[] {
  const exposed = listIn(headers.get('access-control-expose-headers'))
  const hidden = [PAYMENT_REQUIRED_HEADER, PAYMENT_RESPONSE_HEADER].filter(
    name => !exposed.has(name.toLowerCase()) && !exposed.has('*'),
  )
  return [
    isAllowedOrigin(headers.get('access-control-allow-origin'))
      ? []
      : 'Access-Control-Allow-Origin does not let other origins read the answer',
    hidden.length === 0 ? [] : `Access-Control-Expose-Headers lacks ${hidden.join(' and ')}`,
  ].flat()
}

async function preflightProblems(url: URL, method: string): Promise<string[]> {
  const asked = await request(url, 'OPTIONS', {
    'access-control-request-method': method,
    'access-control-request-headers': 'content-type,payment-signature',
  })
  if ('why' in asked) return [`the preflight: ${asked.why}`]
  const { status, headers } = asked.reply
  if (status < 200 || status > 299) return [`the preflight is answered ${status}`]
  const allowed = listIn(headers.get('access-control-allow-headers'))
  const refused = ['content-type', 'payment-signature'].filter(
    name => !allowed.has(name) && !allowed.has('*'),
  )
  return [
    isAllowedOrigin(headers.get('access-control-allow-origin')) ? [] : 'the preflight refuses other origins',
    refused.length === 0 ? [] : `the preflight does not allow ${refused.join(' and ')}`,
  ].flat()
}

function listIn(header: string | null): ReadonlySet<string> {
  return new Set((header ?? '').split(',').map(name => name.trim().toLowerCase()))
}

function differencesFrom({ amount, asset, payTo }: Claimed, { entry }: UsdcTerms): string[] {
  return Object.entries({ amount, asset, payTo }).flatMap(([field, claim]) => {
    const found = entry[field as 'amount' | 'asset' | 'payTo']
    if (claim === undefined || claim === found) return []
    return [`${field} is ${quoted(found)}, and ${quoted(claim)} in the list`]
  })
}

/** Extensions whose `info` is the data that their `schema` describes. In other extensions, the payer completes `info`. */
const DESCRIBED = ['bazaar', 'x402-merchant']

function contradictions(extensions: unknown): string[] {
  return Object.entries(isRecord(extensions) ? extensions : {}).flatMap(([name, extension]) => {
    if (!isRecord(extension) || !isRecord(extension.info)) return `${quoted(name)} has no info`
    return DESCRIBED.includes(name) ? contradiction(name, extension) : []
  })
}

/** Facilitators check the same before they list. */
function contradiction(name: string, { info, schema }: Record<string, unknown>): string[] {
  if (!isRecord(schema)) return [`${name} has no schema`]
  // A larger schema is refused for its size, and is not compiled.
  if (JSON.stringify(schema).length > BAZAAR_BYTES_MAX) return []
  try {
    const checked = ajvValidator().compile(schema as JSONSchema, { coerce: false })(info)
    if (checked instanceof Promise || 'value' in checked) return []
    return [`${name}'s info does not satisfy its schema: ${checked.invalid.message}`]
  } catch {
    return [`${name}'s schema cannot be compiled`]
  }
}
