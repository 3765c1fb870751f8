/** Applies one transaction to a draft of the ledger. */

import {
  type AssetTransferTransactionFields,
  OnApplicationComplete,
  type PaymentTransactionFields,
  type Transaction,
} from 'algosdk'
import { ZERO_ADDRESS } from '../adapters/algorand/address.js'
import type { Draft } from './account-balances.js'

export interface ApplyRules {
  readonly assetId: bigint
  readonly feeSink: string
}

/** What a transaction moved beyond its amount: a node tells it of closings. */
export interface Closings {
  closing?: bigint
  assetClosing?: bigint
}

/** Each step returns the message of a refusal, or nothing. */
export function applyTransaction(
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
