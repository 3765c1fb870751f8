/** What a group does to a draft of the ledger in a round, or why a node refuses it. */
import {
  Address,
  type AssetTransferTransactionFields,
  OnApplicationComplete,
  type PaymentTransactionFields,
  type SignedTransaction,
  type Transaction,
} from 'algosdk'
import { encodeBase32, ZERO_ADDRESS } from '../adapters/algorand/address.js'
import { encoded } from '../adapters/algorand/transaction-hashes.js'
import type { NetworkFacts } from '../domain/network.js'
import { algoText, formRefusal, type Refusal, type SignatureRules } from './check-signatures.js'
import type { Draft } from './draft-accounts.js'
import type { LandedIds } from './pool-and-leases.js'

export const MIN_FEE_MICRO_ALGOS = 1_000n

const USAGE = 1_000_000n
const NOTE_BYTES_FREE = 1_024
const USAGE_PER_NOTE_BYTE = 100n

export interface MemberResult extends Closings {
  /** Whose signature a simulation took for granted. */
  fixedSigner?: string
}

export interface Evaluation {
  readonly refusal?: Refusal
  /** One for each member; empty ones after the refused one. */
  readonly members: readonly MemberResult[]
}

export interface Simulated extends SignatureRules {
  /** Unsigned members are taken as signed by the right key. */
  readonly fixSigners?: boolean
}

export interface State {
  readonly draft: Draft
  readonly ids: LandedIds
  readonly round: bigint
}

export function evaluateGroup(
  group: readonly SignedTransaction[],
  { draft, ids, round }: State,
  rules: ApplyRules & { readonly network: NetworkFacts },
  simulated: Simulated = {},
): Evaluation {
  const members: MemberResult[] = group.map(() => ({}))
  const malformed = formRefusal(group, simulated)
  if (malformed) return { refusal: malformed, members }
  for (const [at, signed] of group.entries()) {
    const { txn } = signed
    const { txId } = encoded(txn)
    const refused =
      timeAndPlaceRefusal(txn, round, rules.network) ??
      repeatedRefusal(txId, txn, ids, round) ??
      named(txId, authorRefusal(signed, draft, simulated, members[at]!))
    if (refused) return { refusal: { stage: 'ledger', message: refused, at }, members }
    const unknown = unemulated(txn)
    if (unknown) return { refusal: { stage: 'unemulated', message: unknown, at }, members }
    const message = named(txId, applyTransaction(draft, txn, rules, members[at]!))
    if (message) return { refusal: { stage: 'ledger', message, at }, members }
    ids.add(txId, txn)
  }
  return { refusal: feeRefusal(group), members }
}

export function usageOf({ note }: Transaction): bigint {
  return USAGE + BigInt(Math.max(0, note.length - NOTE_BYTES_FREE)) * USAGE_PER_NOTE_BYTE
}

function timeAndPlaceRefusal(txn: Transaction, round: bigint, network: NetworkFacts): string | undefined {
  const { firstValid, lastValid, genesisID, genesisHash } = txn
  if (round < firstValid || round > lastValid)
    return `txn dead: round ${round} outside of ${firstValid}--${lastValid}`
  if (genesisID !== undefined && genesisID !== network.genesisId)
    return `tx.GenesisID <${genesisID}> does not match expected <${network.genesisId}>`
  const expected = network.genesisHashBytes
  const given = genesisHash ?? new Uint8Array(expected.length)
  if (Buffer.compare(given, expected) !== 0)
    return `tx.GenesisHash <${encodeBase32(given)}> does not match expected <${encodeBase32(expected)}>`
}

function repeatedRefusal(txId: string, txn: Transaction, ids: LandedIds, round: bigint): string | undefined {
  if (ids.hasTransaction(txId)) return `transaction already in ledger: ${txId}`
  if (!ids.holdsLease(txn, round)) return undefined
  // A node prints a lease as if it were an address.
  const held = `(${txn.sender}, ${new Address(txn.lease!)})`
  return `transaction ${txId} using an overlapping lease (sender, lease):${held}`
}

function authorRefusal(
  { txn, sgnr, sig, msig }: SignedTransaction,
  draft: Draft,
  { fixSigners = false }: Simulated,
  result: MemberResult,
): string | undefined {
  const sender = txn.sender.toString()
  const wanted = draft.account(sender).authAddr ?? sender
  const author = sgnr?.toString() ?? sender
  if (author === wanted) return undefined
  if (fixSigners && !sig && !msig) {
    result.fixedSigner = wanted
    return undefined
  }
  return `should have been authorized by ${wanted} but was actually authorized by ${author}`
}

function feeRefusal(group: readonly SignedTransaction[]): Refusal | undefined {
  const paid = group.reduce((sum, { txn }) => sum + txn.fee, 0n)
  const usage = group.reduce((sum, { txn }) => sum + usageOf(txn), 0n)
  const needed = (usage * MIN_FEE_MICRO_ALGOS + USAGE - 1n) / USAGE
  if (paid >= needed) return undefined
  const used = `${usage / USAGE}.${(usage % USAGE).toString().padStart(6, '0')}`
  const why = `(usage=${used} * base=${algoText(MIN_FEE_MICRO_ALGOS)})`
  const message = `txgroup with ${algoText(paid)} fees is less than ${algoText(needed)} ${why}`
  return { stage: 'ledger', message, at: group.length - 1 }
}

function named(txId: string, message: string | undefined): string | undefined {
  return message && `transaction ${txId}: ${message}`
}

interface ApplyRules {
  readonly assetId: bigint
  readonly feeSink: string
}

/** What a transaction moved beyond its amount: a node tells it of closings. */
interface Closings {
  closing?: bigint
  assetClosing?: bigint
}

/** Each step returns the message of a refusal, or nothing. */
function applyTransaction(
  draft: Draft,
  { sender: from, fee, rekeyTo, payment, assetTransfer }: Transaction,
  { assetId, feeSink }: ApplyRules,
  closings: Closings,
): string | undefined {
  const sender = from.toString()

  function pay({ receiver, amount, closeRemainderTo }: PaymentTransactionFields): string | undefined {
    const refused = draft.moveAlgos(sender, receiver.toString(), amount)
    if (refused || !closeRemainderTo) return refused
    const { microAlgos, holdings } = draft.account(sender)
    closings.closing = microAlgos
    if (holdings.size > 0) return `cannot close: ${holdings.size} outstanding assets`
    const stuck = draft.moveAlgos(sender, closeRemainderTo.toString(), microAlgos)
    if (stuck) return stuck
    draft.forget(sender)
  }

  function transfer(fields: AssetTransferTransactionFields): string | undefined {
    const { amount, assetIndex, assetSender, closeRemainderTo } = fields
    const receiver = fields.receiver.toString()
    // Nobody can take USDC back.
    if (assetSender) return `clawback not allowed: sender ${sender}, clawback ${ZERO_ADDRESS}`
    const optsIn = amount === 0n && receiver === sender && !closeRemainderTo
    if (optsIn && !draft.holding(sender, assetIndex)) {
      if (assetIndex !== assetId) return `asset ${assetIndex} does not exist or has been deleted`
      draft.setHolding(sender, assetIndex, { amount: 0n, frozen: false })
      return undefined
    }
    const refused = draft.moveAsset(sender, receiver, assetIndex, amount)
    return refused || !closeRemainderTo ? refused : close(closeRemainderTo.toString(), assetIndex)
  }

  function close(to: string, asset: bigint): string | undefined {
    const holding = draft.holding(sender, asset)
    // The space at the end is a node's.
    if (!holding)
      return `cannot close asset holding on account ${sender} : account is not opted in asset ${asset} `
    closings.assetClosing = holding.amount
    if (to === sender && holding.amount > 0n)
      return `asset ${asset} not zero (${holding.amount}) after closing`
    const refused = draft.moveAsset(sender, to, asset, holding.amount)
    if (refused) return refused
    draft.setHolding(sender, asset, undefined)
  }

  const refused = draft.moveAlgos(sender, feeSink, fee)
  if (refused) return refused
  if (rekeyTo) draft.rekey(sender, rekeyTo.toString())
  const moved = payment ? pay(payment) : assetTransfer && transfer(assetTransfer)
  return moved ?? draft.takeBelowMinimum()
}

export function unemulated(txn: Transaction): string | undefined {
  if (txn.payment || txn.assetTransfer || isCall(txn)) return undefined
  return `not emulated: the sandbox ledger does payments, asset transfers and calls of applications only, not ${txn.type}`
}

/** The sandbox runs no programs: a call lands, costs its fee, and moves nothing, so that groups with calls can be tested. */
function isCall({ applicationCall }: Transaction): boolean {
  return applicationCall?.onComplete === OnApplicationComplete.NoOpOC && applicationCall.appIndex > 0n
}
