/** A payment and its sponsor's transaction in the ledger's encoding, ready to sign: a library for it weighs 230 kB in a browser. */
import { equalBytes } from '../../domain/bytes.js'
import type { RecordedPayment } from '../../domain/charge-store/moves.js'
import { SdkError } from '../../domain/errors.js'
import type { NetworkFacts } from '../../domain/network.js'
import { X402_VERSION } from '../../domain/x402.js'
import { encodeBase32 } from './address.js'
import type { SuggestedParams } from './algod-and-indexer.js'
import { groupIdOf, hashOf, SIGNED_HEAD, signedBytes, textToSign } from './transaction-hashes.js'

interface GroupPlan extends Pick<AssetPayment, 'network' | 'sender' | 'receiver' | 'assetId' | 'amount'> {
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

/** The signature in a signed form of exactly this transaction; `undefined` for anything else. */
export function signatureIn(signed: Uint8Array, transaction: Uint8Array): Uint8Array | undefined {
  const signature = signed.slice(SIGNED_HEAD.length, SIGNED_HEAD.length + 64)
  return equalBytes(signed, signedBytes(transaction, signature)) ? signature : undefined
}

/** Fees are set first, because the group's id covers them. A fee per byte counts the bytes that the id will add. */
function bound(sponsorship: CommonFields, payment: AssetPayment, suggested: SuggestedParams): Uint8Array[] {
  const feeMicroAlgos = boundedFee(
    feeOf(encodeSponsorship(sponsorship), GROUP_ID_BYTES, suggested) +
      feeOf(encodeAssetPayment(payment), GROUP_ID_BYTES, suggested),
  )
  const paying = { ...sponsorship, feeMicroAlgos }
  const group = groupIdOf([encodeSponsorship(paying), encodeAssetPayment(payment)].map(ownHashOf))
  return [encodeSponsorship({ ...paying, group }), encodeAssetPayment({ ...payment, group })]
}

function grouped(transactions: Uint8Array[], firstValid: bigint, lastValid: bigint): PaymentGroup {
  const paymentIndex = transactions.length - 1
  const txId = encodeBase32(ownHashOf(transactions[paymentIndex]!))
  return { transactions, paymentIndex, txId, firstValid, lastValid }
}

function ownHashOf(transaction: Uint8Array): Uint8Array {
  return hashOf(textToSign(transaction))
}

function feeOf(transaction: Uint8Array, addedBytes: bigint, suggested: SuggestedParams): bigint {
  const { feePerByteMicroAlgos, minFeeMicroAlgos } = suggested
  const fee = feePerByteMicroAlgos * (BigInt(transaction.length) + addedBytes)
  return fee > minFeeMicroAlgos ? fee : minFeeMicroAlgos
}

function boundedFee(feeMicroAlgos: bigint): bigint {
  if (feeMicroAlgos <= FEE_MAX_MICRO_ALGOS) return feeMicroAlgos
  const message = `The node asks for a fee of ${feeMicroAlgos} microalgos, more than ${FEE_MAX_MICRO_ALGOS}; nothing was signed`
  throw new SdkError(message, 'fee_too_high')
}

interface CommonFields {
  readonly network: Pick<NetworkFacts, 'genesisId' | 'genesisHashBytes'>
  /** 32 bytes; the same for all addresses here. */
  readonly sender: Uint8Array
  readonly feeMicroAlgos: bigint
  readonly firstValid: bigint
  readonly lastValid: bigint
  readonly note: string
  readonly group?: Uint8Array
}

interface AssetPayment extends CommonFields {
  readonly receiver: Uint8Array
  readonly assetId: bigint
  readonly amount: bigint
}

type Value = Uint8Array | string | bigint | undefined
type Field = readonly [key: string, value: Value]

export function encodeAssetPayment({ amount, receiver, assetId, ...common }: AssetPayment): Uint8Array {
  return encodeMap([
    ['aamt', amount],
    ['arcv', unlessZero(receiver)],
    ...validity(common),
    ['snd', unlessZero(common.sender)],
    ['type', 'axfer'],
    ['xaid', assetId],
  ])
}

/** A payment of zero to the sender itself. It pays the fees of the group. */
export function encodeSponsorship(common: CommonFields): Uint8Array {
  const sender = unlessZero(common.sender)
  return encodeMap([...validity(common), ['rcv', sender], ['snd', sender], ['type', 'pay']])
}

function validity({ network, feeMicroAlgos, firstValid, lastValid, note, group }: CommonFields): Field[] {
  return [
    ['fee', feeMicroAlgos],
    ['fv', firstValid],
    ['gen', network.genesisId],
    ['gh', network.genesisHashBytes],
    ['grp', group && unlessZero(group)],
    ['lv', lastValid],
    ['note', note === '' ? undefined : utf8.encode(note)],
  ]
}

const utf8 = new TextEncoder()

/** The zero address counts as a zero value too. */
function unlessZero(bytes: Uint8Array): Uint8Array | undefined {
  return bytes.some(byte => byte !== 0) ? bytes : undefined
}

/** `fields` are sorted by key, fewer than 16, and all text in them is ASCII, below 256 characters. */
function encodeMap(fields: readonly Field[]): Uint8Array {
  const bytes = [0x80]
  for (const [key, value] of fields) {
    if (value === undefined || value === 0n) continue
    bytes[0]!++
    put(bytes, key)
    if (typeof value === 'bigint') putUint(bytes, value)
    else put(bytes, value)
  }
  return new Uint8Array(bytes)
}

function put(bytes: number[], value: string | Uint8Array): void {
  const { length } = value
  const isText = typeof value === 'string'
  if (isText && length < 32) bytes.push(0xa0 | length)
  else if (length < 256) bytes.push(isText ? 0xd9 : 0xc4, length)
  else bytes.push(0xc5, length >> 8, length & 0xff)
  for (let at = 0; at < length; at++) bytes.push(isText ? value.charCodeAt(at) : value[at]!)
}

/** In the shortest form: by itself, or behind its size, in one, two, four or eight bytes. */
function putUint(bytes: number[], value: bigint): void {
  if (value < 0x80n) return void bytes.push(Number(value))
  const power = [0, 1, 2].find(each => value < 1n << (8n << BigInt(each))) ?? 3
  bytes.push(0xcc + power)
  for (let bits = 8 * 2 ** power - 8; bits >= 0; bits -= 8)
    bytes.push(Number((value >> BigInt(bits)) & 0xffn))
}
