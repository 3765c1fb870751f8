/** The proof of the payer that a request carries, checked before anything is held. It opens what its own payment paid for. */
import { problemOf } from '../../domain/answer-codes.js'
import { networkIdsOf } from '../../domain/network.js'
import { checkProof, type PayerProof, type ProofRefusal, proofBytes } from '../../domain/sign-in-with-x.js'
import type { Problem } from '../../ports/charge.js'
import type { Call } from './call-record.js'
import type { ChargeDeps } from './charge-deps.js'

/** Why the request is refused; `undefined` where it has no proof, or a good one. */
export function proveCaller(deps: ChargeDeps, call: Call): Problem | undefined {
  const { proof } = call.request
  if (proof === undefined || proof.kind === 'none') return undefined
  if (proof.kind === 'malformed') return problemOf('invalid_siwx_malformed_signature')
  // A proof for another chain is for another seller that this client knows.
  if (!networkIdsOf(deps.owner.network, 'both').includes(proof.value.chainId)) return undefined
  const refusal = refusalOf(deps, call, proof.value)
  call.payment.isProven = refusal === undefined
  return refusal && problemOf(refusal)
}

function refusalOf({ clock, rules }: ChargeDeps, call: Call, proof: PayerProof): ProofRefusal | undefined {
  const { request } = call
  const { read } = call.payment
  const origin = rules.publicUrl ?? request.baseUrl
  const refusal = checkProof(proof, { origin, nowMs: clock.now(), payment: read })
  if (refusal !== undefined) return refusal
  return read!.isSignedByPayer(proofBytes(proof), proof.signature) ? undefined : 'invalid_siwx_signature'
}
