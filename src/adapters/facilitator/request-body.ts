/**
 * The body of `/verify` and `/settle`. Facilitators compare networks by exact string, so both fields that name one get the
 * facilitator's own spelling; no signature covers these fields. The payment's id stays here: with the payment it opens the
 * answer. All other fields stay as the payer sent them.
 */

import { withoutIdentifier } from '../../domain/idempotency-key.js'
import { isIdOf, type NetworkFacts } from '../../domain/network.js'
import { isRecord, type PaymentPayload, type PaymentRequirements, X402_VERSION } from '../../domain/x402.js'

/**
 * Express reads 100 KiB of JSON unless it is told otherwise, and answers 413 to more. Over HTTP a payment has 16 KiB, over MCP and
 * A2A as much as a body; the largest group of transactions is half of this.
 */
const BODY_BYTES_MAX = 96 * 1024

/** `undefined` for a payload that cannot be sent: it is nested deeper than the stack, or too large for facilitators' hosts. */
export type Envelopes = (
  payment: PaymentPayload,
  requirements: PaymentRequirements,
  listedNetwork: string,
) => Buffer<ArrayBuffer> | undefined

interface Sealed {
  readonly requirements: PaymentRequirements
  readonly listedNetwork: string
  readonly body: Buffer<ArrayBuffer> | undefined
}

/** Encodes a payment once for all requests about it. */
export function envelopes(network: NetworkFacts): Envelopes {
  const sealed = new WeakMap<PaymentPayload, Sealed>()
  return (payment, requirements, listedNetwork) => {
    const before = sealed.get(payment)
    if (before?.requirements === requirements && before.listedNetwork === listedNetwork) return before.body
    const body = encode(payment, requirements, listedNetwork, network)
    sealed.set(payment, { requirements, listedNetwork, body })
    return body
  }
}

function encode(
  payment: PaymentPayload,
  requirements: PaymentRequirements,
  listedNetwork: string,
  network: NetworkFacts,
): Buffer<ArrayBuffer> | undefined {
  const nameless = withoutIdentifier(payment)
  const { accepted } = nameless
  // An `accepted` of another network stays as it is: the facilitator must see the payer's own value.
  const respelt = isRecord(accepted) && isIdOf(network, accepted.network)
  try {
    const body = Buffer.from(
      JSON.stringify({
        x402Version: X402_VERSION,
        paymentPayload: respelt
          ? { ...nameless, accepted: { ...accepted, network: listedNetwork } }
          : nameless,
        paymentRequirements: { ...requirements, network: listedNetwork },
      }),
    )
    return body.length > BODY_BYTES_MAX ? undefined : body
  } catch {
    return undefined
  }
}
