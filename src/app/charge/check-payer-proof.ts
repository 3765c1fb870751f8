/** The proof of the payer that a request carries, checked before anything is held. It opens what its own payment paid for. */
import { problemOf } from '../../domain/answer-codes.js'
import { networkIdsOf } from '../../domain/network.js'
import { checkProof, proofBytes } from '../../domain/sign-in-with-x.js'
import type { Problem } from '../../ports/charge.js'
import type { Call } from './call-at-work.js'
import type { ChargeDeps } from './charge-deps.js'

/** Why the request is refused; `undefined` where it has no proof, or a good one. */
export function proveCaller({ owner, rules, clock }: ChargeDeps, call: Call): Problem | undefined {
  const { proof, baseUrl } = call.request
  if (proof === undefined || proof.kind === 'none') return undefined
  if (proof.kind === 'malformed') return problemOf('invalid_siwx_malformed_signature')
  const { value } = proof
  // A proof for another chain is for another seller that this client knows.
  if (!networkIdsOf(owner.network, 'both').includes(value.chainId)) return undefined
  const { read } = call.payment
  const refusal =
    checkProof(value, { origin: rules.publicUrl ?? baseUrl, nowMs: clock.now(), payment: read }) ??
    (read!.isSignedByPayer(proofBytes(value), value.signature) ? undefined : 'invalid_siwx_signature')
  call.payment.isProven = refusal === undefined
  return refusal && problemOf(refusal)
}
