/**
 * Builds and signs the group that the official client builds, byte for byte: the payment, and before it, where the quote
 * names a fee payer, an unsigned zero self-payment of the sponsor that carries both fees.
 */
import { randomBytes } from 'node:crypto'
import { Address, Transaction, TransactionType } from 'algosdk'
import { SvcError } from '../../domain/errors.js'
import { parseBaseUnits } from '../../domain/money.js'
import { GENESIS_HASH, GENESIS_ID, type Network, networkOf } from '../../domain/network.js'
import { type PaymentRequired, type PaymentRequirements, X402_VERSION } from '../../domain/x402.js'
import type { PaymentSigner, SignedPayment } from '../../ports/payment-signer.js'
import { decodeAddress } from './address.js'
import type { Algod, SuggestedParams } from './algod.js'
import { encodeBase32 } from './base32.js'
import type { SigningKey } from './keys.js'
import { cachedParams } from './suggested-params.js'
import { bytesToSign, groupIdOf, hashOf, signedBytes } from './transaction.js'

export interface PaymentSignerOptions {
  readonly key: SigningKey
  readonly network: Network
  readonly algod: Pick<Algod, 'suggestedParams'>
  /** The end of both notes. Must never repeat: two payments with equal terms and notes are one transaction. */
  readonly noteSource?: () => string
  /** How long a node's suggested parameters are used; 0 asks for every payment. */
  readonly paramsMaxAgeMs?: number
}

/** A round takes about 2.8 s; 10 rounds are the official client's window, 1000 the ledger's. */
const ROUND_SECONDS = 2.8
const WINDOW_ROUNDS_MIN = 10
const WINDOW_ROUNDS_MAX = 1_000

/** 16 transactions at 5 times today's minimum fee: what a node, or whoever answers in its place, may make us sign. */
const FEE_MAX_MICRO_ALGOS = 80_000n
const PARAMS_MAX_AGE_MS = 3_000
/** What a signature adds to a transaction, and fees per byte count. */
const SIGNATURE_OVERHEAD_BYTES = 75n

export function algorandPaymentSigner(options: PaymentSignerOptions): PaymentSigner {
  const { key, network, noteSource = () => randomBytes(16).toString('hex') } = options
  const params = cachedParams(options.algod, options.paramsMaxAgeMs ?? PARAMS_MAX_AGE_MS)
  const sender = new Address(key.publicKey)

  return {
    address: key.address,
    async sign(challenge, accepted) {
      const terms = termsOf(accepted, network)
      const suggested = await params()
      if (suggested.genesisHash !== GENESIS_HASH[network]) {
        throw new SvcError(`The node is not on ${network}; nothing was signed`, 'network_mismatch')
      }
      const group = buildGroup({ ...terms, sender, network, suggested, note: noteSource() })
      return signedPayment(key, group, challenge, accepted)
    },
  }
}

interface Terms {
  readonly amount: bigint
  readonly assetIndex: bigint
  readonly receiver: Address
  readonly feePayer?: Address
  readonly windowRounds: number
}

function termsOf(accepted: PaymentRequirements, network: Network): Terms {
  if (networkOf(accepted.network) !== network) {
    throw new SvcError(
      `The quote is for ${String(accepted.network)}, this key pays on ${network}`,
      'network_mismatch',
    )
  }
  const { scheme, extra } = accepted
  const amount = parseBaseUnits(accepted.amount)
  const assetIndex = parseBaseUnits(accepted.asset)
  const receiver = addressOf(accepted.payTo)
  const sponsor = extra?.feePayer ?? undefined
  const feePayer = addressOf(sponsor)
  if (scheme !== 'exact') throw unreadable('its scheme is not exact')
  if (!amount || !assetIndex) throw unreadable('its amount or asset is not a positive integer')
  if (!receiver) throw unreadable('its payTo is no address')
  if (sponsor !== undefined && !feePayer) throw unreadable('its feePayer is no address')
  const rounds = Math.ceil(accepted.maxTimeoutSeconds / ROUND_SECONDS)
  const windowRounds = Math.min(Math.max(rounds || 0, WINDOW_ROUNDS_MIN), WINDOW_ROUNDS_MAX)
  return { amount, assetIndex, receiver, feePayer, windowRounds }
}

interface GroupPlan extends Terms {
  readonly sender: Address
  readonly network: Network
  readonly suggested: SuggestedParams
  readonly note: string
}

function buildGroup(plan: GroupPlan): Transaction[] {
  const { feePayer, suggested } = plan
  const suggestedParams = {
    flatFee: true,
    fee: suggested.minFeeMicroAlgos,
    minFee: suggested.minFeeMicroAlgos,
    firstValid: suggested.lastRound,
    lastValid: suggested.lastRound + BigInt(plan.windowRounds),
    genesisID: GENESIS_ID[plan.network],
    genesisHash: Buffer.from(GENESIS_HASH[plan.network], 'base64'),
  }
  const payment = new Transaction({
    type: TransactionType.axfer,
    sender: plan.sender,
    note: Buffer.from(`x402-payment-v${X402_VERSION}-${plan.note}`),
    suggestedParams,
    assetTransferParams: { assetIndex: plan.assetIndex, amount: plan.amount, receiver: plan.receiver },
  })
  if (!feePayer) {
    payment.fee = boundedFee(feeOf(payment, suggested, SIGNATURE_OVERHEAD_BYTES))
    return [payment]
  }
  const sponsor = new Transaction({
    type: TransactionType.pay,
    sender: feePayer,
    note: Buffer.from(`x402-fee-payer-${plan.note}`),
    suggestedParams,
    paymentParams: { receiver: feePayer, amount: 0n },
  })
  payment.fee = 0n
  return bindGroup(sponsor, payment, suggested)
}

/** Fees first, because a group's id covers them; a fee per byte counts the 38 bytes that the id itself will add. */
function bindGroup(sponsor: Transaction, payment: Transaction, suggested: SuggestedParams): Transaction[] {
  const groupBytes = 38n
  sponsor.fee = boundedFee(feeOf(sponsor, suggested, groupBytes) + feeOf(payment, suggested, groupBytes))
  const group = groupIdOf([hashOf(bytesToSign(sponsor)), hashOf(bytesToSign(payment))])
  sponsor.group = group
  payment.group = group
  return [sponsor, payment]
}

function feeOf(txn: Transaction, suggested: SuggestedParams, addedBytes: bigint): bigint {
  const { feePerByteMicroAlgos, minFeeMicroAlgos } = suggested
  if (feePerByteMicroAlgos === 0n) return minFeeMicroAlgos
  const fee = feePerByteMicroAlgos * (BigInt(txn.toByte().length) + addedBytes)
  return fee > minFeeMicroAlgos ? fee : minFeeMicroAlgos
}

function boundedFee(feeMicroAlgos: bigint): bigint {
  if (feeMicroAlgos <= FEE_MAX_MICRO_ALGOS) return feeMicroAlgos
  throw new SvcError(
    `The node asks for a fee of ${feeMicroAlgos} microalgos, more than ${FEE_MAX_MICRO_ALGOS}; nothing was signed`,
    'fee_too_high',
  )
}

function signedPayment(
  key: SigningKey,
  group: readonly Transaction[],
  challenge: PaymentRequired,
  accepted: PaymentRequirements,
): SignedPayment {
  const payment = group[group.length - 1]!
  const toSign = bytesToSign(payment)
  const signed = signedBytes(toSign.subarray(2), key.sign(toSign))
  const paymentGroup = group.slice(0, -1).map(sponsor => Buffer.from(sponsor.toByte()).toString('base64'))
  return {
    payload: {
      x402Version: X402_VERSION,
      payload: { paymentGroup: [...paymentGroup, signed.toString('base64')], paymentIndex: group.length - 1 },
      ...(challenge.extensions === undefined ? {} : { extensions: challenge.extensions }),
      ...(challenge.resource === undefined ? {} : { resource: challenge.resource }),
      accepted,
    },
    txId: encodeBase32(hashOf(toSign)),
    firstValid: payment.firstValid,
    lastValid: payment.lastValid,
  }
}

function addressOf(text: unknown): Address | undefined {
  const publicKey = decodeAddress(text)
  return publicKey && new Address(publicKey)
}

function unreadable(why: string): SvcError {
  return new SvcError(`The quote cannot be paid: ${why}`, 'unreadable_quote')
}
