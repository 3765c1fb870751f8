/** The group of a payment and, before it, the sponsor's transaction, ready to be signed. */

import { sha512_256 } from '#platform'
import { concatBytes } from '../../domain/bytes.js'
import type { RecordedPayment } from '../../domain/charge-store/moves.js'
import { SdkError } from '../../domain/errors.js'
import { X402_VERSION } from '../../domain/x402.js'
import { encodeBase32 } from './address.js'
import type { SuggestedParams } from './node-clients.js'
import {
  type AssetPayment,
  type CommonFields,
  encodeAssetPayment,
  encodeSponsorship,
} from './payment-encoding.js'

export interface GroupPlan
  extends Pick<AssetPayment, 'network' | 'sender' | 'receiver' | 'assetId' | 'amount'> {
  readonly feePayer?: Uint8Array
  readonly windowRounds: number
  readonly suggested: SuggestedParams
  readonly note: string
}

export interface PaymentGroup extends RecordedPayment {
  /** Canonical encodings; the payment is the last. */
  readonly transactions: readonly Uint8Array[]
  readonly paymentIndex: number
}

/** The highest fee that we sign: 16 transactions at 5 times today's minimum. A false node could ask for more. */
const FEE_MAX_MICRO_ALGOS = 80_000n
/** The bytes that a signature and a group's id add to a transaction. Fees per byte count them. */
const SIGNATURE_BYTES = 75n
const GROUP_ID_BYTES = 38n

const ascii = new TextEncoder()
const TX = ascii.encode('TX')
const SIGNED_HEAD = Uint8Array.of(0x82, 0xa3, 0x73, 0x69, 0x67, 0xc4, 0x40) // {sig: bin 64
const SIGNED_BODY = Uint8Array.of(0xa3, 0x74, 0x78, 0x6e) //                   txn:
const PAIR_HEAD = concatBytes([
  ascii.encode('TG'),
  Uint8Array.of(0x81, 0xa6),
  ascii.encode('txlist'),
  Uint8Array.of(0x92),
])
const HASH_HEAD = Uint8Array.of(0xc4, 32)

export function paymentGroup(plan: GroupPlan): PaymentGroup {
  const { network, sender, feePayer, receiver, assetId, amount, suggested, note } = plan
  const { lastRound: firstValid, minFeeMicroAlgos } = suggested
  const lastValid = firstValid + BigInt(plan.windowRounds)
  const common = { network, firstValid, lastValid, feeMicroAlgos: minFeeMicroAlgos }
  const payment: AssetPayment = {
    ...common,
    sender,
    receiver,
    assetId,
    amount,
    note: `x402-payment-v${X402_VERSION}-${note}`,
  }
  if (!feePayer) {
    const feeMicroAlgos = boundedFee(feeOf(encodeAssetPayment(payment), SIGNATURE_BYTES, suggested))
    return grouped([encodeAssetPayment({ ...payment, feeMicroAlgos })], firstValid, lastValid)
  }
  const sponsorship = { ...common, sender: feePayer, note: `x402-fee-payer-${note}` }
  return grouped(bound(sponsorship, { ...payment, feeMicroAlgos: 0n }, suggested), firstValid, lastValid)
}

export function signedText(transaction: Uint8Array): Uint8Array {
  return concatBytes([TX, transaction])
}

export function withSignature(transaction: Uint8Array, signature: Uint8Array): Uint8Array {
  return concatBytes([SIGNED_HEAD, signature, SIGNED_BODY, transaction])
}

/** The signature in a signed form of exactly this transaction; `undefined` for anything else. */
export function signatureIn(signed: Uint8Array, transaction: Uint8Array): Uint8Array | undefined {
  const signature = signed.slice(SIGNED_HEAD.length, SIGNED_HEAD.length + 64)
  const wanted = withSignature(transaction, signature)
  const same = signed.length === wanted.length && signed.every((byte, at) => byte === wanted[at])
  return same ? signature : undefined
}

/** Fees are set first, because the group's id covers them. A fee per byte counts the bytes that the id will add. */
function bound(sponsorship: CommonFields, payment: AssetPayment, suggested: SuggestedParams): Uint8Array[] {
  const feeMicroAlgos = boundedFee(
    feeOf(encodeSponsorship(sponsorship), GROUP_ID_BYTES, suggested) +
      feeOf(encodeAssetPayment(payment), GROUP_ID_BYTES, suggested),
  )
  const paying = { ...sponsorship, feeMicroAlgos }
  const hashes = [encodeSponsorship(paying), encodeAssetPayment(payment)].map(hashOf)
  const group = sha512_256(concatBytes([PAIR_HEAD, ...hashes.flatMap(hash => [HASH_HEAD, hash])]))
  return [encodeSponsorship({ ...paying, group }), encodeAssetPayment({ ...payment, group })]
}

function grouped(transactions: Uint8Array[], firstValid: bigint, lastValid: bigint): PaymentGroup {
  const paymentIndex = transactions.length - 1
  const txId = encodeBase32(hashOf(transactions[paymentIndex]!))
  return { transactions, paymentIndex, txId, firstValid, lastValid }
}

function hashOf(transaction: Uint8Array): Uint8Array {
  return sha512_256(signedText(transaction))
}

function feeOf(transaction: Uint8Array, addedBytes: bigint, suggested: SuggestedParams): bigint {
  const { feePerByteMicroAlgos, minFeeMicroAlgos } = suggested
  const fee = feePerByteMicroAlgos * (BigInt(transaction.length) + addedBytes)
  return fee > minFeeMicroAlgos ? fee : minFeeMicroAlgos
}

function boundedFee(feeMicroAlgos: bigint): bigint {
  if (feeMicroAlgos <= FEE_MAX_MICRO_ALGOS) return feeMicroAlgos
  throw new SdkError(
    `The node asks for a fee of ${feeMicroAlgos} microalgos, more than ${FEE_MAX_MICRO_ALGOS}; nothing was signed`,
    'fee_too_high',
  )
}
