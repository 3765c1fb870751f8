/** Asks for one resource as indexes do: by GET whatever its method is, by its own method, and as a page of another origin. */

import type { HttpReply } from '../../../src/app/client/send-request.js'
import type { NetworkFacts } from '../../../src/domain/network.js'
import { PAYMENT_REQUIRED_HEADER, PAYMENT_RESPONSE_HEADER } from '../../../src/domain/x402.js'
import { type Finding, failed, ok, skipped } from '../finding.js'
import { extensionProblems } from './extension-check.js'
import { type Quote, quoteIn, quoteProblems } from './quote-check.js'
import { isAllowedOrigin, request } from './request.js'
import type { Claimed } from './resource-list-check.js'

type Probed =
  | { readonly finding: Finding; readonly reply: HttpReply; readonly quote: Quote }
  | { readonly finding: Finding; readonly reply?: undefined; readonly quote?: undefined }

export interface ResourceChecks {
  readonly findings: readonly Finding[]
  /** What the quote declares; `undefined` where there is no quote. */
  readonly extensions: unknown
}

export async function resourceChecks(claimed: Claimed, network: NetworkFacts): Promise<ResourceChecks> {
  const { url, method } = claimed
  const path = shortened(url.pathname)
  const got = await probe(claimed, 'GET', path)
  const posted = method === 'POST' ? await probe(claimed, 'POST', path) : undefined
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
  const inQuote = [
    ...quoteProblems(own.reply, own.quote, claimed, network),
    ...(differs
      ? ['GET and POST are quoted differently: an index has seen the one, and clients pay the other']
      : []),
  ]
  return {
    findings: [
      ...probes,
      told(
        `quote ${path}`,
        inQuote,
        QUOTE_CURE,
        `${own.reply.headers.get(PAYMENT_REQUIRED_HEADER)!.length} bytes`,
      ),
      told(
        `extensions ${path}`,
        extensionProblems(extensions, method),
        'An index lists nothing whose declaration it cannot read. The start of the server warns of what is left out.',
        Object.keys(extensions ?? {}).join(', '),
      ),
      told(
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
  POST: 'Answer a POST without a body and without a payment with the 402: it asks for the price.',
} as const

async function probe({ url }: Claimed, method: 'GET' | 'POST', path: string): Promise<Probed> {
  const check = `${method} ${path}`
  const asked = await request(url, method)
  if ('why' in asked) return { finding: failed(check, asked.why, PROBE_CURES[method]) }
  const { reply } = asked
  const read = quoteIn(reply)
  if ('why' in read) return { finding: failed(check, read.why, PROBE_CURES[method]) }
  return { finding: ok(check, 'is quoted'), reply, quote: read.quote }
}

function offerOf({ resource, accepts }: Quote): string {
  return JSON.stringify({ resource, accepts })
}

function told(check: string, problems: readonly string[], cure: string, fine: string): Finding {
  return problems.length === 0 ? ok(check, fine) : failed(check, problems.join('; '), cure)
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

function shortened(path: string): string {
  return path.length > 60 ? `${path.slice(0, 60)}…` : path
}
