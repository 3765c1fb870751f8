/** Asks a stranger's endpoint for its price, and says what keeps callers from paying it. */

import { SvcError } from '../../../src/domain/errors.js'
import type { PublicNetwork } from '../../../src/domain/network.js'
import { priceOf } from '../../../src/domain/usd-price-for-display.js'
import { isRecord, type PaymentRequirements } from '../../../src/domain/x402.js'
import type { ChainReader } from '../chain/chain-reader.js'
import { allPass, type Check, failed, passed, quoted } from '../checks.js'
import { Refused, type RefusedReason, type SafeAnswer, type SafeFetch } from '../safe-fetch.js'
import { bazaarCheck } from './bazaar-check.js'
import { algorandEntries, challengeIn, isUsdc } from './challenge.js'
import { payToCheck } from './pay-to-check.js'
import { readinessCheck } from './readiness-check.js'
import { resourceCheck } from './resource-check.js'

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
  const asked = { url, method }
  const sent = body !== undefined && method === 'POST' ? { body: JSON.stringify(body) } : {}
  let answer: SafeAnswer
  try {
    answer = await fetch(url, { method, ...sent, signal })
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    if (OURS.has(error.reason)) throw new UrlRefused(error.message)
    const checks = [failed('valid-402', error.message, 'Make it answer, in time and in reasonable size')]
    return { ...asked, status: null, ok: false, checks, usd: null, accepted: null }
  }
  const { status } = answer
  const { challenge, why = '' } = challengeIn(answer)
  if (status !== 402 || !challenge) {
    return { ...asked, status, ok: false, checks: [notA402(answer, why)], usd: null, accepted: null }
  }
  const entries = algorandEntries(challenge)
  const payable = entries.find(isUsdc)
  const checks = [
    validityCheck(answer, challenge),
    usdcCheck(challenge, entries, payable),
    await payToCheck(payable, chains),
    resourceCheck(answer, challenge),
    bazaarCheck(challenge, method),
    readinessCheck(answer, challenge, payable),
  ]
  const accepted = payable ? shown(payable) : null
  return { ...asked, status, ok: allPass(checks), checks, usd: priceOf(payable), accepted }
}

/** What is wrong with the caller's input, rather than with the endpoint. */
const OURS: ReadonlySet<RefusedReason> = new Set(['url', 'port', 'address'])

export class UrlRefused extends SvcError {
  constructor(message: string) {
    super(message, 'url_refused', 422)
  }
}

function notA402({ status, redirects }: SafeAnswer, why: string): Check {
  if (status === 402) {
    return failed(
      'valid-402',
      `a 402, but ${why}`,
      'Send the challenge as base64 of JSON in PAYMENT-REQUIRED',
    )
  }
  const after = redirects.length > 0 ? ` after ${redirects.length} redirects` : ''
  if (status >= 200 && status < 300) {
    return failed('valid-402', `${status}${after}: it works without payment`, 'Put the gate before the work')
  }
  const fix =
    status === 405
      ? 'Ask with the method that the endpoint has'
      : 'An unpaid request with a valid body, or with none, must be answered 402'
  return failed('valid-402', `${status}${after} instead of 402`, fix)
}

function validityCheck({ redirects }: SafeAnswer, challenge: Record<string, unknown>): Check {
  const { x402Version, accepts, resource } = challenge
  const name = 'valid-402'
  if (x402Version !== 2) return failed(name, `x402Version is ${quoted(x402Version)}`, 'Speak version 2')
  if (!Array.isArray(accepts) || accepts.length === 0)
    return failed(name, 'accepts lists no way to pay', 'List one')
  if (!isRecord(resource)) return failed(name, 'there is no resource', 'Say what is sold: resource.url')
  if (redirects.length > 0) {
    const found = `only after a redirect to ${quoted(redirects.at(-1))}`
    return failed(name, found, 'Publish the address that answers: payers do not follow redirects')
  }
  return passed(name, `version 2, ${accepts.length} way(s) to pay`)
}

function usdcCheck(
  { accepts }: Record<string, unknown>,
  entries: readonly PaymentRequirements[],
  payable: PaymentRequirements | undefined,
): Check {
  const name = 'usdc'
  if (payable) return passed(name, `asset ${payable.asset} on ${payable.network}`)
  const [other] = entries
  if (other)
    return failed(
      name,
      `asset ${quoted(other.asset)} is not USDC`,
      'Ask for 31566704 on mainnet, 10458941 on testnet',
    )
  const count = Array.isArray(accepts) ? accepts.length : 0
  return failed(
    name,
    `none of ${count} ways to pay is a readable one on Algorand`,
    'Offer one in USDC on Algorand',
  )
}

function shown({ scheme, network, amount, asset, payTo }: PaymentRequirements) {
  return { scheme, network, amount, asset, payTo: payTo.slice(0, 58) }
}
