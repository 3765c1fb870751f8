/** The proof of the payer that a request carries, checked before anything is held. It opens what its own payment paid for. */
import { networkIdsOf } from '../../domain/network.js'
import { checkProof, type PayerProof, type ProofRefusal, proofBytes } from '../../domain/sign-in-with-x.js'
import type { Problem } from '../../ports/charge.js'
import type { Call } from './call-record.js'
import type { ChargeDeps } from './charge-deps.js'

/** Why the request is refused; `undefined` where it has no proof, or a good one. */
export function proveCaller(deps: ChargeDeps, call: Call): Problem | undefined {
  const { proof } = call.request
  if (proof === undefined || proof.kind === 'none') return undefined
  if (proof.kind === 'malformed') return refused('invalid_siwx_malformed_signature')
  // A proof for another chain is for another seller that this client knows.
  if (!networkIdsOf(deps.owner.network, 'both').includes(proof.value.chainId)) return undefined
  const refusal = refusalOf(deps, call, proof.value)
  call.payment.isProven = refusal === undefined
  return refusal && refused(refusal)
}

function refusalOf({ clock, rules }: ChargeDeps, call: Call, proof: PayerProof): ProofRefusal | undefined {
  const { request } = call
  const { read } = call.payment
  const origin = rules.publicUrl ?? request.baseUrl
  const refusal = checkProof(proof, { origin, nowMs: clock.now(), payment: read })
  if (refusal !== undefined) return refusal
  return read!.isSignedByPayer(proofBytes(proof), proof.signature) ? undefined : 'invalid_siwx_signature'
}

const WORDS = {
  invalid_siwx_domain_mismatch: 'its domain is not the host that was called',
  invalid_siwx_uri_mismatch: 'its uri has another host than the URL that was called',
  invalid_siwx_issued_at: 'its issuedAt is no ISO 8601 time',
  invalid_siwx_issued_at_too_old: 'it is more than five minutes old',
  invalid_siwx_issued_at_in_future: 'its issuedAt is in the future',
  invalid_siwx_expiration_time: 'its expirationTime is no ISO 8601 time',
  invalid_siwx_expired: 'its expirationTime has passed',
  invalid_siwx_not_before: 'its notBefore is no ISO 8601 time',
  invalid_siwx_not_yet_valid: 'its notBefore is in the future',
  invalid_siwx_nonce: 'its nonce is not 16 to 64 letters and digits',
  invalid_siwx_signature: 'the key that signed the payment did not sign it',
  invalid_siwx_malformed_signature: 'it is not base64 of a JSON object with the fields of a proof',
  invalid_siwx_request: 'it is for another payment or another payer than the payment in this request',
} as const satisfies Record<ProofRefusal, string>

function refused(code: ProofRefusal): Problem {
  return { code, message: `SIGN-IN-WITH-X is refused: ${WORDS[code]}. You were not charged.` }
}
