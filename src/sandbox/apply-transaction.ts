/** Applies one transaction to a draft of the ledger. Each function returns the message of a refusal, or nothing. */
import {
  type AssetTransferTransactionFields,
  OnApplicationComplete,
  type PaymentTransactionFields,
  type Transaction,
} from 'algosdk'
import { BASE_UNITS_MAX } from '../domain/money.js'
import type { Draft } from './account-balances.js'
import { algoText } from './node-refusal.js'

export interface ApplyRules {
  readonly assetId: bigint
  readonly feeSink: string
}

const ZERO_ADDRESS = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ'

export function applyTransaction(draft: Draft, txn: Transaction, rules: ApplyRules): string | undefined {
  const sender = txn.sender.toString()
  return (
    unmodelled(txn) ??
    moveAlgos(draft, sender, rules.feeSink, txn.fee) ??
    applyMove(draft, sender, txn, rules) ??
    draft.takeBelowMinimum()
  )
}

function unmodelled(txn: Transaction): string | undefined {
  if (!txn.payment && !txn.assetTransfer && !isCall(txn)) {
    return `the sandbox ledger does payments, asset transfers and calls of applications only, not ${txn.type}`
  }
  if (txn.rekeyTo) return 'the sandbox ledger does not rekey accounts'
  if (txn.lease) return 'the sandbox ledger does not keep leases'
}

/**
 * A call of an application that exists. The sandbox runs no programs: the call lands, costs its fee, and moves nothing, so
 * that groups of wallets with calls in them can be tested.
 */
function isCall({ applicationCall }: Transaction): boolean {
  return applicationCall?.onComplete === OnApplicationComplete.NoOpOC && applicationCall.appIndex > 0n
}

function applyMove(draft: Draft, sender: string, { payment, assetTransfer }: Transaction, rules: ApplyRules) {
  if (payment) return applyPayment(draft, sender, payment)
  return assetTransfer && applyTransfer(draft, sender, assetTransfer, rules.assetId)
}

function applyPayment(draft: Draft, sender: string, payment: PaymentTransactionFields): string | undefined {
  const refused = moveAlgos(draft, sender, payment.receiver.toString(), payment.amount)
  if (refused || !payment.closeRemainderTo) return refused
  const { microAlgos, holdings } = draft.account(sender)
  if (holdings.size > 0) return `cannot close: ${holdings.size} outstanding assets`
  return moveAlgos(draft, sender, payment.closeRemainderTo.toString(), microAlgos)
}

function moveAlgos(draft: Draft, from: string, to: string, microAlgos: bigint): string | undefined {
  const held = draft.account(from).microAlgos
  if (held < microAlgos) {
    const data = `{AccountBaseData:{Status:Offline MicroAlgos:${algoText(held)} ...}}`
    return `overspend (account ${from}, data ${data}, tried to spend ${algoText(microAlgos)})`
  }
  draft.setMicroAlgos(from, held - microAlgos)
  draft.setMicroAlgos(to, draft.account(to).microAlgos + microAlgos)
}

function applyTransfer(
  draft: Draft,
  sender: string,
  transfer: AssetTransferTransactionFields,
  knownAssetId: bigint,
): string | undefined {
  const { amount, assetIndex, assetSender, closeRemainderTo } = transfer
  const receiver = transfer.receiver.toString()
  if (assetSender) return `clawback not allowed: sender ${sender}, clawback ${ZERO_ADDRESS}`
  const optsIn = amount === 0n && receiver === sender && !closeRemainderTo
  if (optsIn && !draft.holding(sender, assetIndex)) {
    if (assetIndex !== knownAssetId) return `asset ${assetIndex} does not exist or has been deleted`
    draft.setHolding(sender, assetIndex, { amount: 0n, frozen: false })
    return undefined
  }
  const refused = moveAsset(draft, sender, receiver, assetIndex, amount)
  return refused ?? (closeRemainderTo && closeHolding(draft, sender, closeRemainderTo.toString(), assetIndex))
}

function closeHolding(draft: Draft, sender: string, to: string, assetId: bigint): string | undefined {
  const holding = draft.holding(sender, assetId)
  if (!holding) return `asset ${assetId} not present in account ${sender}`
  if (to === sender && holding.amount > 0n)
    return `asset ${assetId} not zero (${holding.amount}) after closing`
  const refused = moveAsset(draft, sender, to, assetId, holding.amount)
  if (refused) return refused
  draft.setHolding(sender, assetId, undefined)
}

/** A transfer of zero checks no account: go-algorand lets anyone send zero of any asset to anyone. */
function moveAsset(
  draft: Draft,
  from: string,
  to: string,
  assetId: bigint,
  amount: bigint,
): string | undefined {
  if (amount === 0n) return undefined
  const source = draft.holding(from, assetId)
  if (!source) return `asset ${assetId} missing from ${from}`
  if (source.frozen) return `asset ${assetId} frozen in ${from}`
  if (source.amount < amount) return `underflow on subtracting ${amount} from sender amount ${source.amount}`
  draft.setHolding(from, assetId, { ...source, amount: source.amount - amount })
  const target = draft.holding(to, assetId)
  if (!target) return `receiver error: must optin, asset ${assetId} missing from ${to}`
  if (target.frozen) return 'asset frozen in recipient'
  if (target.amount + amount > BASE_UNITS_MAX)
    return `overflow on adding ${amount} to receiver amount ${target.amount}`
  draft.setHolding(to, assetId, { ...target, amount: target.amount + amount })
}
