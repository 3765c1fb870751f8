/**
 * The checks of a payment that need no ledger, in the order and with the codes of the official facilitator. `DIFFERENCES`
 * lists the stricter ones. The sandbox's facilitator and `createFacilitator` share them.
 */
import { SignedTransaction, type Transaction } from 'algosdk'
import { encoded, GROUP_SIZE_MAX } from '../adapters/algorand/transaction-hashes.js'
import { parseBaseUnits } from '../domain/money.js'
import { isIdOf, type NetworkFacts } from '../domain/network.js'
import { isRecord, X402_VERSION } from '../domain/x402.js'
import { addressOf, decodedMember, isCanonical, isSignedBy } from './remembered-checks.js'

export interface Refused {
  readonly ok: false
  /** The code without its prefix `invalid_exact_avm_`. */
  readonly reason: string
  readonly message: string
}

/** A group that may be signed by the sponsor, as far as the group itself can tell. */
export interface CheckedGroup {
  readonly payer: string
  /** Of the payment. */
  readonly txId: string
  readonly group: readonly SignedTransaction[]
  readonly payment: SignedTransaction
  /** The sponsor's transaction, without a signature. */
  readonly sponsored: SignedTransaction | undefined
}

export interface CheckRules {
  /** The address that sponsors fees. */
  readonly sponsor: string
  /** The only one whose payments are checked. */
  readonly network: NetworkFacts
  /** The largest fee that the sponsor's transaction may have, in microalgos. */
  sponsorFeeMax(group: readonly SignedTransaction[], sponsored: Transaction, payment: Transaction): bigint
}

/**
 * Payments that this facilitator refuses and the official one accepts. No honest client sends them. A facilitator that
 * signs them pays for other people's transactions, or lets a payer give its account away by mistake.
 */
export const DIFFERENCES = Object.freeze({
  payment_close_to: 'a payment that closes the holding moves more than the amount that was agreed',
  payment_rekey: 'a payment that rekeys gives the account away',
  extra_sponsor: 'one sponsor transaction carries the fees of a group; a second only costs',
  sponsor_fee: "the sponsor's fee is higher than the network asks for",
  not_canonical:
    'nodes take some other encodings of a payment and refuse others: only the canonical one is signed for',
} satisfies Record<string, string>)

const FEE_MAX_MICRO_ALGOS = 5_000n
/** The largest group, 16 transactions in Base64, is far below this. */
const TEXT_LENGTH_MAX = 32_768

export class Refusal extends Error {
  constructor(
    readonly reason: string,
    message: string,
  ) {
    super(message)
  }
}

/** @throws Refusal; any other error is malformed input, see `refusalOf` */
export function checkGroup(payload: unknown, requirements: unknown, rules: CheckRules): CheckedGroup {
  const { sponsor } = rules
  const { paymentGroup, paymentIndex } = envelopeOf(payload, requirements, rules)
  const group = decodedGroup(paymentGroup, sponsor)
  const payment = group[paymentIndex]
  if (!payment) throw new Refusal('payload', `paymentIndex must be a whole number, not ${paymentIndex}`)
  const payer = addressOf(payment.txn.sender)
  if (payer === sponsor)
    throw new Refusal('facilitator_transferring', 'Facilitator signer cannot be the payment sender')
  checkPayment(payment, requirements as Record<string, unknown>)
  const sponsored = group.filter(({ txn }) => addressOf(txn.sender) === sponsor)
  for (const { txn } of sponsored) checkSponsor(txn, group.length)
  const checked = { payer, txId: encoded(payment.txn).txId, group, payment, sponsored: sponsored[0] }
  checkStricter(checked, sponsored, paymentGroup, rules)
  return checked
}

/** Malformed input is refused as `payload`. */
export function refusalOf(error: unknown): Refused {
  if (error instanceof Refusal) return { ok: false, reason: error.reason, message: error.message }
  const why = error instanceof Error ? error.message : String(error)
  return { ok: false, reason: 'payload', message: `Unexpected error: ${why}` }
}

export function sponsoredGroup(
  { group, sponsored }: CheckedGroup,
  sign: (bytes: Uint8Array) => Uint8Array,
): readonly SignedTransaction[] {
  return group.map(member =>
    member === sponsored
      ? new SignedTransaction({ txn: member.txn, sig: sign(encoded(member.txn).bytes) })
      : member,
  )
}

/**
 * The group as a node can check it without the sponsor's signature; `undefined` where it cannot. A node that allows a transaction
 * to be unsigned allows it for all of them: so each of the others needs a plain signature, which the node then checks.
 */
export function groupWithoutSponsor({
  group,
  sponsored,
}: Pick<CheckedGroup, 'group' | 'sponsored'>): readonly SignedTransaction[] | undefined {
  if (sponsored === undefined) return undefined
  const others = group.filter(member => member !== sponsored)
  // Nodes take a signature of zeros for none.
  if (!others.every(({ sig }) => sig?.some(byte => byte !== 0))) return undefined
  return group.map(member => (member === sponsored ? new SignedTransaction({ txn: member.txn }) : member))
}

function envelopeOf(
  payload: unknown,
  requirements: unknown,
  { network }: CheckRules,
): { paymentGroup: string[]; paymentIndex: number } {
  if (!isRecord(payload) || !isRecord(requirements))
    throw new Refusal('payload', 'No payment or no requirements')
  const { x402Version, accepted, payload: inner } = payload
  if (x402Version !== X402_VERSION)
    throw new Refusal('invalid_version', `Expected x402Version ${X402_VERSION}, got ${shown(x402Version)}`)
  if (!isRecord(accepted)) throw new Refusal('payload', 'Payload has no accepted requirements')
  if (accepted.scheme !== 'exact' || requirements.scheme !== 'exact') {
    const schemes = `payload=${shown(accepted.scheme)} requirements=${shown(requirements.scheme)}`
    throw new Refusal('scheme', `Expected scheme "exact", got ${schemes}`)
  }
  if (!isIdOf(network, accepted.network) || !isIdOf(network, requirements.network)) {
    const networks = `payload=${shown(accepted.network)} requirements=${shown(requirements.network)}`
    throw new Refusal('network_mismatch', `Network mismatch: ${networks}`)
  }
  if (!isGroupPayload(inner)) throw new Refusal('payload', 'Payload does not match ExactAvmPayloadV2 format')
  const { paymentGroup, paymentIndex } = inner
  const size = paymentGroup.length
  if (size > GROUP_SIZE_MAX) {
    const message = `Transaction group has ${size} transactions, maximum is ${GROUP_SIZE_MAX}`
    throw new Refusal('group_size_exceeded', message)
  }
  if (paymentIndex < 0 || paymentIndex >= size)
    throw new Refusal('payment_index', `Payment index ${paymentIndex} out of bounds for group of ${size}`)
  return { paymentGroup, paymentIndex }
}

function isGroupPayload(value: unknown): value is { paymentGroup: string[]; paymentIndex: number } {
  if (!isRecord(value) || typeof value.paymentIndex !== 'number' || !Array.isArray(value.paymentGroup))
    return false
  return value.paymentGroup.every(text => typeof text === 'string' && text.length <= TEXT_LENGTH_MAX)
}

function decodedGroup(texts: readonly string[], sponsor: string): SignedTransaction[] {
  const group = texts.map((text, at) => {
    const member = decodedMember(text)
    if (!member) throw new Refusal('invalid_transaction', `Failed to decode transaction at index ${at}`)
    const sender = addressOf(member.txn.sender)
    if (!member.signed && sender !== sponsor) {
      const message = `Unsigned transaction at index ${at} from ${sender} is not a facilitator address`
      throw new Refusal('unsigned_non_facilitator', message)
    }
    return member.signed ?? new SignedTransaction({ txn: member.txn })
  })
  const id = group[0] && groupText(group[0])
  if (group.some(member => groupText(member) !== id))
    throw new Refusal('invalid_group_id', 'Transactions have inconsistent group IDs')
  return group
}

function checkPayment(payment: SignedTransaction, requirements: Record<string, unknown>): void {
  const { assetTransfer: transfer, type, sender } = payment.txn
  if (!transfer) throw new Refusal('not_asset_transfer', `Expected asset transfer, got "${type}"`)
  const amount = parseBaseUnits(requirements.amount)
  if (amount === undefined) throw new Refusal('payload', 'Requirements have no amount of base units')
  if (transfer.amount !== amount)
    throw new Refusal('amount_mismatch', `Expected ${amount}, got ${transfer.amount}`)
  const receiver = addressOf(transfer.receiver)
  if (receiver !== requirements.payTo)
    throw new Refusal('receiver_mismatch', `Expected ${String(requirements.payTo)}, got ${receiver}`)
  if (transfer.assetIndex.toString() !== requirements.asset)
    throw new Refusal(
      'asset_mismatch',
      `Expected asset ${String(requirements.asset)}, got ${transfer.assetIndex}`,
    )
  if (!(payment.sig ?? payment.msig ?? payment.lsig ?? payment.pqsig))
    throw new Refusal('payment_not_signed', 'Payment transaction is not signed')
  if (payment.sig && !isSignedBy(payment, sender.publicKey))
    throw new Refusal('invalid_signature', 'Payment transaction signature does not match sender')
}

function checkSponsor(txn: Transaction, groupSize: number): void {
  const { payment, fee } = txn
  if (!payment) throw new Refusal('invalid_fee_payer', `Expected payment transaction, got ${txn.type}`)
  if (payment.amount > 0n) throw new Refusal('invalid_fee_payer', 'Fee payer amount must be 0')
  if (addressOf(payment.receiver) !== addressOf(txn.sender))
    throw new Refusal('invalid_fee_payer', 'Fee payer receiver must be same as sender (self-payment)')
  if (payment.closeRemainderTo)
    throw new Refusal('invalid_fee_payer', 'closeRemainderTo not allowed on fee payer')
  if (txn.rekeyTo) throw new Refusal('invalid_fee_payer', 'rekeyTo not allowed on fee payer')
  const feeMax = FEE_MAX_MICRO_ALGOS * BigInt(groupSize)
  if (fee > feeMax) {
    const message = `Fee ${fee} exceeds maximum ${feeMax} (${groupSize} txns × ${FEE_MAX_MICRO_ALGOS} µAlgo)`
    throw new Refusal('fee_too_high', message)
  }
}

function checkStricter(
  { group, payment }: CheckedGroup,
  sponsored: readonly SignedTransaction[],
  texts: readonly string[],
  { sponsorFeeMax }: CheckRules,
): void {
  const { txn } = payment
  if (txn.assetTransfer?.closeRemainderTo) throw different('payment_close_to')
  if (txn.rekeyTo) throw different('payment_rekey')
  if (sponsored.length > 1) throw different('extra_sponsor')
  if (sponsored.some(({ txn: own }) => own.fee > sponsorFeeMax(group, own, txn)))
    throw different('sponsor_fee')
  if (!isCanonical(payment, Buffer.from(texts[group.indexOf(payment)]!, 'base64')))
    throw different('not_canonical')
}

function different(rule: keyof typeof DIFFERENCES): Refusal {
  return new Refusal(rule, DIFFERENCES[rule])
}

function groupText({ txn }: SignedTransaction): string {
  return txn.group ? Buffer.from(txn.group).toString('latin1') : ''
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'undefined').slice(0, 80)
}
