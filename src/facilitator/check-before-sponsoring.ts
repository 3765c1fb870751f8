/**
 * What a sponsor signs: one transaction, which moves nothing but its bounded fee, in a group that lands as a whole with a payment
 * to a listed address. Everything is checked before the first signature, because a signature cannot be taken back.
 */
import type { SignedTransaction, Transaction } from 'algosdk'
import type { SuggestedParams } from '../adapters/algorand/algod-and-indexer.js'
import { algorandPaymentReader } from '../adapters/algorand/read-payment.js'
import { encoded, isWholeGroup } from '../adapters/algorand/transaction-hashes.js'
import { formatUsd, parseBaseUnits } from '../domain/money.js'
import type { NetworkFacts } from '../domain/network.js'
import { isRecord } from '../domain/x402.js'
import type { FacilitatorSettings } from './facilitator-options.js'
import {
  type CheckedGroup,
  checkGroup,
  groupWithoutSponsor,
  Refusal,
  type Refused,
  refusalOf,
} from './official-group-checks.js'
import { INVALID_REQUIREMENTS } from './x402-answers.js'

export type Checked =
  | (CheckedGroup & {
      readonly ok: true
      readonly feeMicroAlgos: bigint
      /** For simulations, see {@link groupWithoutSponsor}. */
      readonly withoutSponsor: readonly SignedTransaction[] | undefined
    } & Known)
  | (Refused & Known & { readonly txId: string | undefined })

/** What is known of a payment, whether it passes or not. */
interface Known {
  /** Why the group can land in no later round; `undefined` where it can. In a node's words, which decide nothing. */
  readonly dead: string | undefined
  /** Who has signed a payment that can still land: old ones are public, so that anybody can present them. */
  readonly signer: string | undefined
}

const reader = algorandPaymentReader()

/** Never throws: malformed input is refused as `payload`. */
export function checkPayment(
  payload: unknown,
  requirements: unknown,
  settings: FacilitatorSettings,
  params: SuggestedParams,
): Checked {
  const { network, key, feePerPaymentMax } = settings
  try {
    checkRequirements(requirements, settings)
    const checked = checkGroup(payload, requirements, {
      sponsor: key.address,
      network,
      sponsorFeeMax(_, sponsored, payment) {
        const needed = feeNeeded(sponsored, params) + feeNeeded(payment, params)
        return needed < feePerPaymentMax ? needed : feePerPaymentMax
      },
    })
    checkWhole(checked.group)
    checkPlace(checked.payment.txn, network)
    if (checked.payment.txn.assetTransfer?.assetSender)
      throw new Refusal('not_asset_transfer', 'A clawback is no payment')
    if (checked.sponsored) checkSponsored(checked.sponsored.txn, checked.payment.txn, network)
    const feeMicroAlgos = checked.sponsored?.txn.fee ?? 0n
    const expired = checked.group.find(({ txn }) => isExpired(txn, params))
    const dead = expired && expiry(expired.txn, params)
    return {
      ...checked,
      ok: true,
      feeMicroAlgos,
      withoutSponsor: groupWithoutSponsor(checked),
      dead,
      // `checkGroup` has checked a plain signature.
      signer: dead === undefined && checked.payment.sig ? checked.payer : undefined,
    }
  } catch (error) {
    const read = isRecord(payload) ? reader.read(payload) : undefined
    const dead = read && isExpired(read, params) ? expiry(read, params) : undefined
    const signer = read && dead === undefined && read.proven() ? read.payer : undefined
    return { ...refusalOf(error), txId: read?.txId, dead, signer }
  }
}

type Rounds = Pick<Transaction, 'firstValid' | 'lastValid'>

function isExpired({ lastValid }: Rounds, { lastRound }: SuggestedParams): boolean {
  return lastValid <= lastRound
}

/** The node would say the same of a simulation, whenever it is asked. */
function expiry({ firstValid, lastValid }: Rounds, { lastRound }: SuggestedParams): string {
  return `txn dead: round ${lastRound} is past ${firstValid}--${lastValid}`
}

function checkRequirements(requirements: unknown, { payTo, network, amountMin }: FacilitatorSettings): void {
  if (!isRecord(requirements)) return
  const { payTo: receiver, asset, amount } = requirements
  if (typeof receiver !== 'string' || (payTo !== 'anyone' && !payTo.has(receiver)))
    throw new Refusal(INVALID_REQUIREMENTS, 'This facilitator does not settle payments to this payTo')
  if (asset !== network.usdcId)
    throw new Refusal(INVALID_REQUIREMENTS, `This facilitator settles asset ${network.usdcId} alone`)
  const baseUnits = parseBaseUnits(amount)
  // The asker writes the requirements, so they bound nothing by themselves.
  if (baseUnits !== undefined && baseUnits < amountMin)
    throw new Refusal(INVALID_REQUIREMENTS, `This facilitator settles ${formatUsd(amountMin)} and more`)
}

/**
 * The group's id is the hash of exactly this group. Otherwise the sponsor would sign for a group that nobody has shown, in which
 * there may be no payment.
 */
function checkWhole(group: readonly SignedTransaction[]): void {
  const txns = group.map(({ txn }) => txn)
  if (isWholeGroup(txns, index => encoded(txns[index]!).ungroupedHash)) return
  throw new Refusal('invalid_group_id', 'The group id is not the hash of this group')
}

/** A signature of the sponsor must not be good on another network. */
function checkPlace({ genesisID, genesisHash }: Transaction, network: NetworkFacts): void {
  const hash = genesisHash && Buffer.from(genesisHash).toString('base64')
  if (hash === network.genesisHash && (genesisID ?? network.genesisId) === network.genesisId) return
  throw new Refusal('network_mismatch', 'A transaction is of another network')
}

/** The official client's note has 28 bytes, and ours 47. */
const NOTE_BYTES_MAX = 64
/** The ledger asks for more than the smallest fee from here on. */
const PAYMENT_NOTE_BYTES_MAX = 1_024

function checkSponsored(own: Transaction, payment: Transaction, network: NetworkFacts): void {
  checkPlace(own, network)
  if (own.lease) throw new Refusal('invalid_fee_payer', 'lease not allowed on fee payer')
  if (own.note.length > NOTE_BYTES_MAX)
    throw new Refusal('invalid_fee_payer', `The note of the fee payer has at most ${NOTE_BYTES_MAX} bytes`)
  if (payment.note.length > PAYMENT_NOTE_BYTES_MAX)
    throw new Refusal('sponsor_fee', `The note of a payment has at most ${PAYMENT_NOTE_BYTES_MAX} bytes`)
}

function feeNeeded(txn: Transaction, { minFeeMicroAlgos, feePerByteMicroAlgos }: SuggestedParams): bigint {
  const { bytes } = encoded(txn)
  const byBytes = feePerByteMicroAlgos * BigInt(bytes.length + SIGNATURE_BYTES)
  return byBytes > minFeeMicroAlgos ? byBytes : minFeeMicroAlgos
}

/** The wrapper and its signature, without the two bytes that the hash has before the transaction. */
const SIGNATURE_BYTES = 73
