/** Reads a 402: what the seller asks, which entry this client pays, what the call would cost. */
import { isValidAddress } from '../../adapters/algorand/address.js'
import { SdkError, type SvcError } from '../../domain/errors.js'
import { PAYMENT_IDENTIFIER } from '../../domain/idempotency-key.js'
import { parseBaseUnits } from '../../domain/money.js'
import { isIdOf, type NetworkFacts } from '../../domain/network.js'
import { isForWindow, isPaid, quotedNetworks } from '../../domain/price-for-display.js'
import {
  BALANCE_EXTENSION,
  decodeAnswerHeader,
  memberAt,
  PAYMENT_REQUIRED_HEADER,
  type PaymentRequired,
  type PaymentRequirements,
  readRequirements,
  recordAt,
  X402_VERSION,
} from '../../domain/x402.js'
import { type HttpReply, recordOf, shortened } from './http-reply.js'
import type { Warning } from './result-types.js'

/** Not behind a redirect, which a caller's own fetch may have followed: that 402 is another host's. */
export function isQuote({ status, location }: Pick<HttpReply, 'status' | 'location'>): boolean {
  return status === 402 && location === undefined
}

/** The challenge in the header; in the body where the header holds none. `undefined` where neither lists ways to pay. */
export function challengeOf(reply: HttpReply): PaymentRequired | undefined {
  const header = reply.headers.get(PAYMENT_REQUIRED_HEADER)
  return (header === null ? undefined : listing(decodeAnswerHeader(header))) ?? listing(recordOf(reply))
}

export function resourceIn(challenge: PaymentRequired | undefined): string | undefined {
  const url = memberAt(challenge, 'resource', 'url')
  return typeof url === 'string' ? url : undefined
}

/** Whether the seller says that it keeps answers by their idempotency keys. */
export function keepsKeys({ extensions }: PaymentRequired): boolean {
  return recordAt(extensions, PAYMENT_IDENTIFIER) !== undefined
}

/** A balance that pays for calls of an endpoint. */
export interface BalanceOffer {
  readonly agent: string
  /** What this call costs at most. */
  readonly accepted: PaymentRequirements
  readonly only?: bigint
}

/**
 * The seller of a balance must be at the endpoint's own origin, above its path: its key is sent to no other agent of a shared host.
 *
 * @throws SvcError `unreadable_quote` where nothing else pays, and the quote does not say what the call costs
 */
export function balanceOffer(
  url: URL,
  challenge: PaymentRequired | undefined,
  network: NetworkFacts,
): BalanceOffer | undefined {
  const { endpoint, only, price } = recordAt(challenge?.extensions, BALANCE_EXTENSION, 'info') ?? {}
  const entry = challenge && payableEntry(challenge, network)
  if (!entry || typeof endpoint !== 'string' || !URL.canParse(endpoint)) return undefined
  const { origin, pathname } = new URL(endpoint)
  const isAbove = url.pathname.startsWith(pathname.replace(/[^/]*$/, ''))
  if (origin !== url.origin || !isAbove) return undefined
  const agent = origin + pathname
  if (only !== true) return { agent, accepted: entry }
  const amount = parseBaseUnits(price)
  if (amount) return { agent, accepted: { ...entry, amount: String(amount) }, only: BigInt(entry.amount) }
  const message = `The quote of ${origin} does not say what the call costs on a balance; nothing was paid`
  throw new SdkError(message, 'unreadable_quote', 402, challenge)
}

/** What `call` throws instead of buying a balance: its key comes in a header, and only `topUp` keeps it. */
export function balanceByCall({ origin, pathname }: URL, entry?: PaymentRequirements): SvcError | undefined {
  if (entry?.extra?.balancePeriod === undefined) return undefined
  const how = `topUp('${agentAt(origin + pathname)}', …), or svc balance --buy, keeps its key`
  return new SdkError(`${origin} sells a balance here: ${how}; nothing was paid`, 'invalid_request', 402)
}

export function agentAt(balanceUrl: string): string {
  return balanceUrl.replace(/\/[^/]*$/, '')
}

/** Of 50,000 ways to pay, the checks of their addresses took 16 s of the buyer's processor. */
const ACCEPTS_MAX = 100

function listing(challenge: Record<string, unknown> | undefined): PaymentRequired | undefined {
  const isListed = Array.isArray(challenge?.accepts) && challenge.accepts.length <= ACCEPTS_MAX
  return isListed ? (challenge as unknown as PaymentRequired) : undefined
}

export type Wanted = 'call' | 'window'

export interface SelectedRequirements {
  readonly challenge: PaymentRequired
  readonly accepted: PaymentRequirements
  readonly warnings: readonly Warning[]
}

export function selectRequirements(
  url: URL,
  challenge: PaymentRequired | undefined,
  { network, strictResource, wanted }: { network: NetworkFacts; strictResource: boolean; wanted?: Wanted },
): SelectedRequirements {
  const accepted = challenge && payableEntry(challenge, network, wanted)
  if (!challenge || !accepted) {
    const names = quotedNetworks(challenge?.accepts ?? [], network)
    const others =
      names.length === 0 || names.includes(network.name) ? '' : ` (it is for ${names.join(', ')})`
    const why = `offers no way to pay exactly in USDC on ${network.name}${others}; nothing was paid`
    throw new SdkError(`The quote of ${url.origin} ${why}`, 'unreadable_quote', 402, challenge)
  }
  const elsewhere = foreignOrigin(challenge, url)
  const message = `The quote of ${url.origin} is for a resource at ${elsewhere}`
  if (elsewhere !== undefined && strictResource)
    throw new SdkError(`${message}; nothing was paid`, 'resource_elsewhere', 402, challenge)
  const warnings: Warning[] = elsewhere === undefined ? [] : [{ code: 'resource_elsewhere', message }]
  return { challenge, accepted, warnings }
}

/**
 * The entry that is paid: the cheapest that asks for USDC on this network under the scheme `exact`, of those that sell what is
 * wanted; where none does, of the others. Entries of other kinds, and entries that cannot be read, are passed over: they are
 * meant for other payers.
 */
export function payableEntry(
  challenge: PaymentRequired,
  network: NetworkFacts,
  wanted?: Wanted,
): PaymentRequirements | undefined {
  if (challenge.x402Version !== X402_VERSION) return undefined
  const payable = (challenge.accepts as readonly unknown[]).flatMap(entry => {
    const requirements = readRequirements(entry)
    return requirements && isPayable(requirements, network) ? requirements : []
  })
  const wantedOnes = payable.filter(entry => isForWindow(entry) === (wanted === 'window'))
  return cheapest(wantedOnes) ?? cheapest(payable)
}

function cheapest(entries: readonly PaymentRequirements[]): PaymentRequirements | undefined {
  const [first, ...others] = entries
  return others.reduce(
    (least, entry) => (BigInt(entry.amount) < BigInt(least!.amount) ? entry : least),
    first,
  )
}

function isPayable(entry: PaymentRequirements, network: NetworkFacts): boolean {
  const { feePayer } = entry.extra ?? {}
  return (
    isPaid({ ...entry }) &&
    isIdOf(network, entry.network) &&
    entry.asset === network.usdcId &&
    parseBaseUnits(entry.amount)! > 0n &&
    isValidAddress(entry.payTo) &&
    (feePayer === undefined || feePayer === null || isValidAddress(feePayer))
  )
}

export function foreignOrigin(challenge: PaymentRequired, asked: URL): string | undefined {
  const url = resourceIn(challenge)
  if (url === undefined || !URL.canParse(url)) return undefined
  const { origin } = new URL(url)
  return origin === asked.origin ? undefined : shortened(origin)
}
