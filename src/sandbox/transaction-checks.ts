/**
 * The checks of a payment, in the order and with the codes of the official facilitator. `DIFFERENCES` lists the stricter
 * ones.
 */
import { SignedTransaction, type Transaction } from 'algosdk'
import type { SigningKey } from '../adapters/algorand/signing-keys.js'
import { decodeMember, GROUP_SIZE_MAX } from '../adapters/algorand/transaction-bytes.js'
import { parseBaseUnits } from '../domain/money.js'
import { isIdOf, type NetworkFacts } from '../domain/network.js'
import { isRecord, X402_VERSION } from '../domain/x402.js'
import { isCanonical } from './algod-routes.js'
import { encoded } from './encoded-transactions.js'
import { isSignedBy } from './group-checks.js'
import { type Ledger, MIN_FEE_MICRO_ALGOS } from './ledger.js'

export interface Refused {
  readonly ok: false
  /** The code without its prefix `invalid_exact_avm_`. */
  readonly reason: string
  readonly message: string
}

export interface Accepted {
  readonly ok: true
  readonly payer: string
  readonly txId: string
  readonly group: readonly SignedTransaction[]
}

/**
 * Payments that this facilitator refuses and the official one accepts. No honest client sends them. A facilitator that
 * signs them pays for other people's transactions, or lets a payer give its account away by mistake.
 */
export const DIFFERENCES = Object.freeze({
  payment_close_to: 'a payment that closes the holding moves more than the amount that was agreed',
  payment_rekey: 'a payment that rekeys gives the account away',
  payment_lease: 'a lease makes another payment of the same payer wait',
  extra_sponsor: 'one sponsor transaction carries the fees of a group; a second only costs',
  sponsor_fee: 'the sponsor pays what the group needs, not five times that',
  not_canonical: 'a node refuses other encodings at submission, after the answer has been given away',
} satisfies Record<string, string>)

const FEE_MAX_MICRO_ALGOS = 5_000n
/** The largest group, 16 transactions in Base64, is far below this. */
const TEXT_LENGTH_MAX = 32_768

class Refusal extends Error {
  constructor(
    readonly reason: string,
    message: string,
  ) {
    super(message)
  }
}

/** Never throws: malformed input is refused as `payload`. */
export function checkTransactions(
  payload: unknown,
  requirements: unknown,
  ledger: Ledger,
  sponsor: SigningKey,
): Accepted | Refused {
  try {
    return checkedGroup(payload, requirements, ledger, sponsor)
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, reason: error.reason, message: error.message }
    const why = error instanceof Error ? error.message : String(error)
    return { ok: false, reason: 'payload', message: `Unexpected error: ${why}` }
  }
}

function checkedGroup(
  payload: unknown,
  requirements: unknown,
  ledger: Ledger,
  sponsor: SigningKey,
): Accepted {
  const { paymentGroup, paymentIndex } = envelopeOf(payload, requirements, ledger.network)
  const group = decodedGroup(paymentGroup, sponsor.address)
  const payment = group[paymentIndex]
  if (!payment) throw new Refusal('payload', `Payment index ${paymentIndex} is not whole`)
  const payer = payment.txn.sender.toString()
  if (payer === sponsor.address) {
    throw new Refusal('facilitator_transferring', 'Facilitator signer cannot be the payment sender')
  }
  checkPayment(payment, requirements as Record<string, unknown>)
  const sponsored = group.filter(({ txn }) => txn.sender.toString() === sponsor.address)
  for (const { txn } of sponsored) checkSponsor(txn, group.length)
  checkStricter(group, payment, sponsored, paymentGroup)
  const signed = group.map(member => (sponsored.includes(member) ? sponsoredBy(sponsor, member.txn) : member))
  const refusal = ledger.simulate(signed)
  if (refusal) throw new Refusal('simulation_failed', refusal.message)
  return { ok: true, payer, txId: encoded(payment.txn).txId, group: signed }
}

function envelopeOf(
  payload: unknown,
  requirements: unknown,
  network: NetworkFacts,
): { paymentGroup: string[]; paymentIndex: number } {
  if (!isRecord(payload) || !isRecord(requirements))
    throw new Refusal('payload', 'No payment or no requirements')
  const { x402Version, accepted, payload: inner } = payload
  if (x402Version !== X402_VERSION) {
    throw new Refusal('invalid_version', `Expected x402Version ${X402_VERSION}, got ${shown(x402Version)}`)
  }
  if (!isRecord(accepted)) throw new Refusal('payload', 'Payload has no accepted requirements')
  if (accepted.scheme !== 'exact' || requirements.scheme !== 'exact') {
    const schemes = `payload=${shown(accepted.scheme)} requirements=${shown(requirements.scheme)}`
    throw new Refusal('scheme', `Expected scheme "exact", got ${schemes}`)
  }
  if (!isIdOf(network, requirements.network) || !isIdOf(network, accepted.network)) {
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
  if (paymentIndex < 0 || paymentIndex >= size) {
    throw new Refusal('payment_index', `Payment index ${paymentIndex} out of bounds for group of ${size}`)
  }
  return { paymentGroup, paymentIndex }
}

function isGroupPayload(value: unknown): value is { paymentGroup: string[]; paymentIndex: number } {
  if (!isRecord(value) || typeof value.paymentIndex !== 'number' || !Array.isArray(value.paymentGroup))
    return false
  return value.paymentGroup.every(text => typeof text === 'string' && text.length <= TEXT_LENGTH_MAX)
}

function decodedGroup(texts: readonly string[], sponsor: string): SignedTransaction[] {
  const group = texts.map((text, at) => {
    const member = decodeMember(Buffer.from(text, 'base64'))
    if (!member) throw new Refusal('invalid_transaction', `Failed to decode transaction at index ${at}`)
    const sender = member.txn.sender.toString()
    if (!member.signed && sender !== sponsor) {
      const message = `Unsigned transaction at index ${at} from ${sender} is not a facilitator address`
      throw new Refusal('unsigned_non_facilitator', message)
    }
    return member.signed ?? new SignedTransaction({ txn: member.txn })
  })
  const id = group[0] && groupText(group[0])
  if (group.some(member => groupText(member) !== id)) {
    throw new Refusal('invalid_group_id', 'Transactions have inconsistent group IDs')
  }
  return group
}

function checkPayment(payment: SignedTransaction, requirements: Record<string, unknown>): void {
  const { assetTransfer: transfer, type, sender } = payment.txn
  if (!transfer) throw new Refusal('not_asset_transfer', `Expected asset transfer, got "${type}"`)
  const amount = parseBaseUnits(requirements.amount)
  if (amount === undefined) throw new Refusal('payload', 'Requirements have no amount of base units')
  if (transfer.amount !== amount) {
    throw new Refusal('amount_mismatch', `Expected ${amount}, got ${transfer.amount}`)
  }
  const receiver = transfer.receiver.toString()
  if (receiver !== requirements.payTo) {
    throw new Refusal('receiver_mismatch', `Expected ${String(requirements.payTo)}, got ${receiver}`)
  }
  if (transfer.assetIndex.toString() !== requirements.asset) {
    throw new Refusal(
      'asset_mismatch',
      `Expected asset ${String(requirements.asset)}, got ${transfer.assetIndex}`,
    )
  }
  if (!(payment.sig ?? payment.msig ?? payment.lsig ?? payment.pqsig)) {
    throw new Refusal('payment_not_signed', 'Payment transaction is not signed')
  }
  if (payment.sig && !isSignedBy(payment, sender.publicKey)) {
    throw new Refusal('invalid_signature', 'Payment transaction signature does not match sender')
  }
}

function checkSponsor(txn: Transaction, groupSize: number): void {
  const { payment, fee } = txn
  if (!payment) throw new Refusal('invalid_fee_payer', `Expected payment transaction, got ${txn.type}`)
  if (payment.amount > 0n) throw new Refusal('invalid_fee_payer', 'Fee payer amount must be 0')
  if (payment.receiver.toString() !== txn.sender.toString()) {
    throw new Refusal('invalid_fee_payer', 'Fee payer receiver must be same as sender (self-payment)')
  }
  if (payment.closeRemainderTo) {
    throw new Refusal('invalid_fee_payer', 'closeRemainderTo not allowed on fee payer')
  }
  if (txn.rekeyTo) throw new Refusal('invalid_fee_payer', 'rekeyTo not allowed on fee payer')
  const feeMax = FEE_MAX_MICRO_ALGOS * BigInt(groupSize)
  if (fee > feeMax) {
    const message = `Fee ${fee} exceeds maximum ${feeMax} (${groupSize} txns × ${FEE_MAX_MICRO_ALGOS} µAlgo)`
    throw new Refusal('fee_too_high', message)
  }
}

function checkStricter(
  group: readonly SignedTransaction[],
  payment: SignedTransaction,
  sponsored: readonly SignedTransaction[],
  texts: readonly string[],
): void {
  const { txn } = payment
  if (txn.assetTransfer?.closeRemainderTo) throw different('payment_close_to')
  if (txn.rekeyTo) throw different('payment_rekey')
  if (txn.lease) throw different('payment_lease')
  if (sponsored.length > 1) throw different('extra_sponsor')
  const needed = MIN_FEE_MICRO_ALGOS * BigInt(group.length)
  if (sponsored.some(({ txn }) => txn.fee > needed)) throw different('sponsor_fee')
  if (!isCanonical(payment, Buffer.from(texts[group.indexOf(payment)]!, 'base64')))
    throw different('not_canonical')
}

function sponsoredBy(sponsor: SigningKey, txn: Transaction): SignedTransaction {
  return new SignedTransaction({ txn, sig: sponsor.sign(encoded(txn).bytes) })
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
