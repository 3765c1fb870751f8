/** Whether a stock client can pay the challenge as it stands, and nothing on the way keeps it from arriving. */
import { isValidAddress } from '../../../src/adapters/algorand/address.js'
import { parseBaseUnits } from '../../../src/domain/money.js'
import { CAIP2, publicNetworkOf } from '../../../src/domain/network.js'
import { PAYMENT_REQUIRED_HEADER, type PaymentRequirements } from '../../../src/domain/x402.js'
import { type Check, failed, passed, quoted, untold } from '../checks.js'
import type { SafeAnswer } from '../safe-fetch.js'

const NAME = 'challenge-ready'

/** Node and many proxies read 16 KiB of headers in all, and the payment sends most of this back. */
const HEADER_CHARS_MAX = 8_192
/** A payment of ten rounds needs half a minute; the ledger keeps none for longer than 1000. */
const TIMEOUT_SECONDS_MIN = 15
const TIMEOUT_SECONDS_MAX = 2_800

export function readinessCheck(
  { headers }: SafeAnswer,
  { error = 'payment required' }: Record<string, unknown>,
  payable: PaymentRequirements | undefined,
): Check {
  if (!payable) return untold(NAME, 'no entry in USDC on Algorand', 'Offer one first')
  const { scheme, network, amount, maxTimeoutSeconds, extra } = payable
  const refuse = (found: string, fix: string) => failed(NAME, found, fix)
  if (scheme !== 'exact') return refuse(`the scheme is ${quoted(scheme)}`, 'Offer the scheme "exact"')
  if (network !== CAIP2[publicNetworkOf(network)!]) {
    return refuse(
      `the network is written ${quoted(network)}`,
      `Write the CAIP-2 id: ${CAIP2[publicNetworkOf(network)!]}`,
    )
  }
  if (parseBaseUnits(amount) === 0n) return refuse('the amount is zero', 'Ask for more than nothing')
  if (maxTimeoutSeconds < TIMEOUT_SECONDS_MIN || maxTimeoutSeconds > TIMEOUT_SECONDS_MAX) {
    return refuse(
      `maxTimeoutSeconds is ${maxTimeoutSeconds}`,
      `Give ${TIMEOUT_SECONDS_MIN} to ${TIMEOUT_SECONDS_MAX}; 300 is usual`,
    )
  }
  const feePayer = extra?.feePayer
  if (!isValidAddress(feePayer)) {
    return refuse(
      'extra.feePayer is missing or no address',
      'Take it from the facilitator: without it, callers need ALGO',
    )
  }
  const chars = headers.get(PAYMENT_REQUIRED_HEADER)?.length ?? 0
  if (chars > HEADER_CHARS_MAX) {
    return refuse(
      `the challenge has ${chars} characters`,
      `Keep it under ${HEADER_CHARS_MAX}: payers send it back in a header`,
    )
  }
  if (!/\bno-store\b/i.test(headers.get('cache-control') ?? '')) {
    return refuse('a cache may keep the 402', 'Send Cache-Control: no-store with it')
  }
  return passed(NAME, `${quoted(error)}, sponsored by ${String(feePayer)}`)
}
