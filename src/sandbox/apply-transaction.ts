/** Applies one transaction to a draft of the ledger. Each function returns the message of a refusal, or nothing. */

import {
  type AssetTransferTransactionFields,
  OnApplicationComplete,
  type PaymentTransactionFields,
  type Transaction,
} from 'algosdk'
import { ZERO_ADDRESS } from '../adapters/algorand/address.js'
import { BASE_UNITS_MAX } from '../domain/money.js'
import type { Draft } from './account-balances.js'
import { algoText } from './node-refusal.js'

export interface ApplyRules {
  readonly assetId: bigint
  readonly feeSink: string
}

/** What a transaction moved beyond its amount: a node tells it of closings. */
export interface Closings {
  closing?: bigint
  assetClosing?: bigint
}

export function applyTransaction(
  draft: Draft,
  txn: Transaction,
  rules: ApplyRules,
  closings: Closings,
): string | undefined {
  const sender = txn.sender.toString()
  const refused = moveAlgos(draft, sender, rules.feeSink, txn.fee)
  if (refused) return refused
  if (txn.rekeyTo) draft.rekey(sender, txn.rekeyTo.toString())
  return applyMove(draft, sender, txn, rules, closings) ?? draft.takeBelowMinimum()
}

export function unemulated(txn: Transaction): string | undefined {
  if (txn.payment || txn.assetTransfer || isCall(txn)) return undefined
  return `not emulated: the sandbox ledger does payments, asset transfers and calls of applications only, not ${txn.type}`
}

/** The sandbox runs no programs: a call lands, costs its fee, and moves nothing, so that groups with calls can be tested. */
function isCall({ applicationCall }: Transaction): boolean {
  return applicationCall?.onComplete === OnApplicationComplete.NoOpOC && applicationCall.appIndex > 0n
}

function applyMove(
  draft: Draft,
  sender: string,
  { payment, assetTransfer }: Transaction,
  rules: ApplyRules,
  closings: Closings,
): string | undefined {
  if (payment) return applyPayment(draft, sender, payment, closings)
  return assetTransfer && applyTransfer(draft, sender, assetTransfer, rules, closings)
}

function applyPayment(
  draft: Draft,
  sender: string,
  payment: PaymentTransactionFields,
  closings: Closings,
): string | undefined {
  const refused = moveAlgos(draft, sender, payment.receiver.toString(), payment.amount)
  if (refused || !payment.closeRemainderTo) return refused
  const { microAlgos, holdings } = draft.account(sender)
  closings.closing = microAlgos
  if (holdings.size > 0) return `cannot close: ${holdings.size} outstanding assets`
  const stuck = moveAlgos(draft, sender, payment.closeRemainderTo.toString(), microAlgos)
  if (stuck) return stuck
  draft.forget(sender)
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
  { assetId }: ApplyRules,
  closings: Closings,
): string | undefined {
  const { amount, assetIndex, assetSender, closeRemainderTo } = transfer
  const receiver = transfer.receiver.toString()
  // Nobody can take USDC back.
  if (assetSender) return `clawback not allowed: sender ${sender}, clawback ${ZERO_ADDRESS}`
  const optsIn = amount === 0n && receiver === sender && !closeRemainderTo
  if (optsIn && !draft.holding(sender, assetIndex)) {
    if (assetIndex !== assetId) return `asset ${assetIndex} does not exist or has been deleted`
    draft.setHolding(sender, assetIndex, { amount: 0n, frozen: false })
    return undefined
  }
  const refused = moveAsset(draft, sender, receiver, assetIndex, amount)
  if (refused || !closeRemainderTo) return refused
  return closeHolding(draft, sender, closeRemainderTo.toString(), assetIndex, closings)
}

function closeHolding(
  draft: Draft,
  sender: string,
  to: string,
  assetId: bigint,
  closings: Closings,
): string | undefined {
  const holding = draft.holding(sender, assetId)
  // The space at the end is a node's.
  if (!holding)
    return `cannot close asset holding on account ${sender} : account is not opted in asset ${assetId} `
  closings.assetClosing = holding.amount
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
