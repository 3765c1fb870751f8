/** Asks a stranger's endpoint for its price, and says what keeps callers from paying it. */
import {
  type Finding,
  failed,
  judged,
  judgedQuote,
  NOT_IN_USDC,
  ok,
  optInCheck,
  payToCheck,
  quoted,
  quoteIn,
  reachProblems,
  skipped,
  type UsdcTerms,
} from '../../src/checks/index.js'
import { SvcError } from '../../src/domain/errors.js'
import type { PublicNetwork } from '../../src/domain/network.js'
import { priceOf } from '../../src/domain/price-for-display.js'
import type { PaymentRequirements } from '../../src/domain/x402.js'
import type { ChainReader } from './chain/chain-reader.js'
import { allPass, asChecks, type Check } from './checks.js'
import { Refused, type RefusedReason, type SafeAnswer, type SafeFetch } from './safe-fetch.js'

export interface X402Report {
  readonly url: string
  readonly method: 'GET' | 'POST'
  /** Of the answer; `null` where there was none. */
  readonly status: number | null
  /** Whether every check passed. */
  readonly ok: boolean
  readonly checks: readonly Check[]
  readonly usd: number | null
  /** The entry that a payer on Algorand would pay. */
  readonly accepted: Pick<PaymentRequirements, 'scheme' | 'network' | 'amount' | 'asset' | 'payTo'> | null
}

export interface X402Asked {
  readonly url: string
  readonly method?: 'GET' | 'POST'
  readonly body?: object
}

export interface X402Sources {
  readonly fetch: SafeFetch
  readonly chains: Readonly<Record<PublicNetwork, ChainReader>>
}

/** @throws UrlRefused where the URL is none that may be read; nobody was asked then. */
export async function x402Report(
  { url, method = 'POST', body }: X402Asked,
  { fetch, chains }: X402Sources,
  signal: AbortSignal,
): Promise<X402Report> {
  const sent = body !== undefined && method === 'POST' ? { body: JSON.stringify(body) } : {}
  const unpaid = (status: number | null, finding: Finding) => {
    return { url, method, status, ok: false, checks: asChecks([finding]), usd: null, accepted: null }
  }
  let answer: SafeAnswer
  try {
    answer = await fetch(url, { method, ...sent, signal })
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    if (OURS.has(error.reason)) throw new UrlRefused(error.message)
    return unpaid(null, failed(VALID, error.message, 'Make it answer, in time and in reasonable size'))
  }
  const { status, redirects } = answer
  const read = quoteIn(answer)
  if ('why' in read) {
    const after = redirects.length > 0 ? ` after ${redirects.length} redirects` : ''
    return unpaid(status, failed(VALID, read.why + after, QUOTE_IT))
  }
  const { quote } = read
  const { terms, problems } = judgedQuote(quote, { url: answer.url, method, reply: answer })
  const redirected =
    redirects.length > 0 ? [`it redirects to ${quoted(redirects.at(-1))}, and payers do not follow`] : []
  const findings = [
    judged(VALID, [...problems.form, ...redirected], QUOTE_IT, 'version 2, with a way to pay'),
    terms
      ? ok('usdc', `asset ${terms.entry.asset} on ${terms.entry.network}`)
      : failed('usdc', NOT_IN_USDC, 'Ask for asset 31566704 on mainnet, 10458941 on testnet'),
    await receiverFinding(terms, chains),
    judged(
      'public-resource',
      [...problems.resource, ...reachProblems(answer.url)],
      'Quote the public https URL that callers reach; behind a proxy, forward X-Forwarded-Proto and X-Forwarded-Host',
      answer.url.href,
    ),
    judged(
      'bazaar-listable',
      problems.declaration,
      'Declare an example call and its JSON Schema, small and self-contained',
      `${method} with an example and a schema`,
    ),
    terms
      ? judged(
          'challenge-ready',
          [...problems.terms, ...problems.delivery],
          'Offer what a stock client pays, in a header that arrives',
          `sponsored by ${String(terms.entry.extra?.feePayer)}`,
        )
      : skipped('challenge-ready', NOT_IN_USDC, 'Offer one first'),
  ]
  return {
    ...{ url, method, status, ok: allPass(findings), checks: asChecks(findings) },
    usd: priceOf(terms?.entry),
    accepted: terms ? shown(terms.entry) : null,
  }
}

const VALID = 'valid-402'
const QUOTE_IT =
  'Answer an unpaid request, with a valid body or with none, with 402 and the quote as base64 of JSON in PAYMENT-REQUIRED'

/** What is wrong with the caller's input, rather than with the endpoint. */
const OURS: ReadonlySet<RefusedReason> = new Set(['url', 'port', 'address'])

export class UrlRefused extends SvcError {
  constructor(message: string) {
    super(message, 'url_refused', 422)
  }
}

async function receiverFinding(
  terms: UsdcTerms | undefined,
  chains: Readonly<Record<PublicNetwork, ChainReader>>,
): Promise<Finding> {
  const check = 'pay-to-opted-in'
  if (!terms) return skipped(check, NOT_IN_USDC, 'Offer one first')
  const { payTo } = terms.entry
  const address = payToCheck(check, payTo)
  if (address.status === 'failed') return address
  const { account, usdc } = chains[terms.network.key as PublicNetwork]
  return optInCheck(check, payTo, terms.network, { account, assetHolding: usdc }).catch(() =>
    skipped(check, `no node of ${terms.network.name} answered`, 'Ask again later'),
  )
}

function shown({ scheme, network, amount, asset, payTo }: PaymentRequirements) {
  return { scheme, network, amount, asset, payTo: payTo.slice(0, 58) }
}
