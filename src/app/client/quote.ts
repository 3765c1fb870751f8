/** Reads a 402: what is asked, and which of the entries this client may pay. */
import { isValidAddress } from '../../adapters/algorand/address.js'
import { parseBaseUnits } from '../../domain/money.js'
import { type Network, networkOf, USDC_ASSET_ID } from '../../domain/network.js'
import {
  decodeAnswerHeader,
  isRecord,
  PAYMENT_REQUIRED_HEADER,
  type PaymentRequired,
  type PaymentRequirements,
  readRequirements,
  X402_VERSION,
} from '../../domain/x402.js'
import { recordOf } from './body.js'
import type { HttpReply } from './http-exchange.js'

/** The challenge in the header; in the body where the header holds none. `undefined` where neither lists ways to pay. */
export function challengeOf(reply: HttpReply): PaymentRequired | undefined {
  const header = reply.headers.get(PAYMENT_REQUIRED_HEADER)
  return (header === null ? undefined : listing(decodeAnswerHeader(header))) ?? listing(recordOf(reply))
}

function listing(challenge: Record<string, unknown> | undefined): PaymentRequired | undefined {
  return Array.isArray(challenge?.accepts) ? (challenge as unknown as PaymentRequired) : undefined
}

/**
 * The first entry that asks for USDC on this network under the scheme `exact`. Entries that are something else, or
 * that cannot be read, are passed over: they are other payers' business.
 */
export function payableEntry(challenge: PaymentRequired, network: Network): PaymentRequirements | undefined {
  if (challenge.x402Version !== X402_VERSION) return undefined
  for (const entry of challenge.accepts as readonly unknown[]) {
    const requirements = readRequirements(entry)
    if (requirements && isPayable(requirements, network)) return requirements
  }
  return undefined
}

function isPayable(entry: PaymentRequirements, network: Network): boolean {
  const { feePayer, paymentFlow } = entry.extra ?? {}
  return (
    entry.scheme === 'exact' &&
    networkOf(entry.network) === network &&
    entry.asset === String(USDC_ASSET_ID[network]) &&
    parseBaseUnits(entry.amount)! > 0n &&
    isValidAddress(entry.payTo) &&
    (feePayer === undefined || feePayer === null || isValidAddress(feePayer)) &&
    // Other flows take the money before the work is done; a failed call would be charged.
    (paymentFlow === undefined || paymentFlow === 'authorization')
  )
}

/** The origin that a challenge says it is for, where that is not the one that was asked. */
export function foreignOrigin(challenge: PaymentRequired, asked: URL): string | undefined {
  const url: unknown = isRecord(challenge.resource) ? challenge.resource.url : undefined
  if (typeof url !== 'string' || !URL.canParse(url)) return undefined
  const { origin } = new URL(url)
  return origin === asked.origin ? undefined : origin
}
