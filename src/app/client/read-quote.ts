/** Reads a 402: what the seller asks, which entry this client pays, what the call would cost. */
import { isValidAddress } from '../../adapters/algorand/address.js'
import { SdkError, SvcError } from '../../domain/errors.js'
import { parseBaseUnits } from '../../domain/money.js'
import { isIdOf, type NetworkFacts } from '../../domain/network.js'
import { PAYMENT_IDENTIFIER } from '../../domain/payment-identifier.js'
import { quotedNetworks } from '../../domain/quoted-networks.js'
import { isForWindow, isPaid, usdNumber } from '../../domain/usd-price-for-display.js'
import {
  decodeAnswerHeader,
  isRecord,
  PAYMENT_REQUIRED_HEADER,
  type PaymentRequired,
  type PaymentRequirements,
  readRequirements,
  X402_VERSION,
} from '../../domain/x402.js'
import type { HttpRequest } from './build-request.js'
import { unfitRequest } from './declared-input.js'
import { recordOf, shortened } from './read-response.js'
import type { Warning } from './result-types.js'
import type { HttpReply } from './send-request.js'
import type { SpendingLimits } from './spending-limits.js'

/** A 402 behind a redirect, which a caller's own fetch may have followed, is another host's quote. */
export function isQuote({ status, location }: Pick<HttpReply, 'status' | 'location'>): boolean {
  return status === 402 && location === undefined
}

/** The challenge in the header; in the body where the header holds none. `undefined` where neither lists ways to pay. */
export function challengeOf(reply: HttpReply): PaymentRequired | undefined {
  const header = reply.headers.get(PAYMENT_REQUIRED_HEADER)
  return (header === null ? undefined : listing(decodeAnswerHeader(header))) ?? listing(recordOf(reply))
}

/** What the quote says is sold. */
export function resourceIn(challenge: PaymentRequired | undefined): string | undefined {
  const url: unknown = isRecord(challenge?.resource) ? challenge.resource.url : undefined
  return typeof url === 'string' ? url : undefined
}

/** Whether the seller says that it keeps answers by their idempotency keys. */
export function keepsKeys({ extensions }: PaymentRequired): boolean {
  return isRecord(extensions) && isRecord(extensions[PAYMENT_IDENTIFIER])
}

function listing(challenge: Record<string, unknown> | undefined): PaymentRequired | undefined {
  return Array.isArray(challenge?.accepts) ? (challenge as unknown as PaymentRequired) : undefined
}

/** What is asked for: one call, or a window of them. */
export type Wanted = 'call' | 'window'

export interface SelectedRequirements {
  readonly challenge: PaymentRequired
  readonly accepted: PaymentRequirements
  readonly warnings: readonly Warning[]
}

/** @throws SvcError `unreadable_quote`, `resource_elsewhere` */
export function selectRequirements(
  url: URL,
  challenge: PaymentRequired | undefined,
  {
    network,
    strictResource,
    wanted,
  }: { readonly network: NetworkFacts; readonly strictResource: boolean; readonly wanted?: Wanted },
): SelectedRequirements {
  const accepted = challenge && payableEntry(challenge, network, wanted)
  if (!challenge || !accepted) {
    throw new SdkError(
      `The quote of ${url.origin} offers no way to pay exactly in USDC on ${network.name}${othersIn(challenge, network)}; nothing was paid`,
      'unreadable_quote',
      402,
      challenge,
    )
  }
  const elsewhere = foreignOrigin(challenge, url)
  const message = `The quote of ${url.origin} is for a resource at ${elsewhere}`
  if (elsewhere !== undefined && strictResource) {
    throw new SdkError(`${message}; nothing was paid`, 'resource_elsewhere', 402, challenge)
  }
  const warnings: Warning[] = elsewhere === undefined ? [] : [{ code: 'resource_elsewhere', message }]
  return { challenge, accepted, warnings }
}

/** What the seller quotes instead, where that is other networks. */
function othersIn(challenge: PaymentRequired | undefined, network: NetworkFacts): string {
  const names = quotedNetworks(challenge?.accepts ?? [], network)
  return names.length === 0 || names.includes(network.name) ? '' : ` (it is for ${names.join(', ')})`
}

/**
 * The entry that is paid: the cheapest that asks for USDC on this network under the scheme `exact`, of those that sell what is
 * wanted; where none does, of the others. Entries of other kinds, and entries that cannot be read, are passed over: they are
 * meant for other payers.
 */
export function payableEntry(
  challenge: PaymentRequired,
  network: NetworkFacts,
  wanted: Wanted = 'call',
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

export function isPayable(entry: PaymentRequirements, network: NetworkFacts): boolean {
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

/** The origin of the challenge's resource, where it differs from the origin that was asked. */
export function foreignOrigin(challenge: PaymentRequired, asked: URL): string | undefined {
  const url = resourceIn(challenge)
  if (url === undefined || !URL.canParse(url)) return undefined
  const { origin } = new URL(url)
  return origin === asked.origin ? undefined : shortened(origin)
}

/** What a call would cost, and whether it would be paid. */
export interface Estimate {
  /**
   * What would be paid, in USD: 0 where nothing would be; `null` where the quote offers no way for this client to pay.
   */
  readonly usd: number | null
  /** The entry of the quote that would be paid. */
  readonly accepted?: PaymentRequirements
  /** A held subscription key covers the call. Where the URL alone does not show it, the quote was asked for. */
  readonly covered?: true
  /** What `call` would throw instead of paying, by the quote and the limits as they stand; absent where it would pay. */
  readonly refusal?: SvcError
}

export async function estimateOf(
  asked: Pick<HttpRequest, 'url' | 'method' | 'body' | 'signal' | 'maxPrice'>,
  quoted: HttpReply,
  settings: {
    readonly network: NetworkFacts
    readonly strictResource: boolean
    readonly limits: Pick<SpendingLimits, 'refusalOf'>
  },
): Promise<Estimate> {
  let selected: SelectedRequirements
  try {
    selected = selectRequirements(asked.url, challengeOf(quoted), settings)
  } catch (error) {
    if (error instanceof SvcError) return { usd: null, refusal: error }
    throw error
  }
  const { accepted, challenge } = selected
  const refusal = unfitRequest(asked, challenge) ?? (await settings.limits.refusalOf(accepted, asked))
  return { usd: usdNumber(BigInt(accepted.amount)), accepted, ...(refusal && { refusal }) }
}
