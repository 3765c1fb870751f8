/**
 * The group that a payment lands with: the rounds in which all of it is valid, and what speaks against it. Wallets pay in
 * groups that also opt in, call applications (to swap) and transfer.
 */
import type { Transaction } from 'algosdk'
import type { GroupProblem } from '../../ports/payment-reader.js'
import { bytesToSign, isWholeGroup, ungroupedHashOf } from './transaction-bytes.js'

export interface GroupFacts {
  readonly firstValid: bigint
  readonly lastValid: bigint
  readonly groupProblem: GroupProblem | undefined
}

/** `signedText` is the payment's, so that it is not encoded a second time. */
export function groupFacts(group: readonly Transaction[], index: number, signedText: Uint8Array): GroupFacts {
  const payment = group[index]!
  const hashOf = (txn: Transaction) =>
    ungroupedHashOf((txn === payment ? signedText : bytesToSign(txn)).subarray(TX_BYTES))
  // In a group that is not whole, the other transactions may be from anyone: their rounds say nothing about the payment.
  if (!isWholeGroup(group, hashOf)) {
    return { firstValid: payment.firstValid, lastValid: payment.lastValid, groupProblem: 'notWhole' }
  }
  const { firstValid, lastValid } = commonRounds(group)
  return { firstValid, lastValid, groupProblem: problemOf(group, payment, firstValid > lastValid) }
}

function problemOf(group: readonly Transaction[], payment: Transaction, neverValid: boolean) {
  if (neverValid) return 'noCommonRound'
  if (!isPlain(payment)) return 'notPlain'
  return group.some(txn => txn !== payment && movesTheSame(txn, payment)) ? 'anotherTransfer' : undefined
}

/** The length of the prefix `TX`. */
const TX_BYTES = 2

function commonRounds(group: readonly Transaction[]): { firstValid: bigint; lastValid: bigint } {
  let { firstValid, lastValid } = group[0]!
  for (const txn of group) {
    if (txn.firstValid > firstValid) firstValid = txn.firstValid
    if (txn.lastValid < lastValid) lastValid = txn.lastValid
  }
  return { firstValid, lastValid }
}

/** Whether the payment moves its amount, from its sender, and does nothing else. */
function isPlain({ assetTransfer, rekeyTo }: Transaction): boolean {
  return rekeyTo === undefined && !assetTransfer?.closeRemainderTo && !assetTransfer?.assetSender
}

/** Whether this transaction moves the payment's asset to or from the account that is paid. An opt-in moves nothing. */
function movesTheSame({ sender, assetTransfer: transfer }: Transaction, payment: Transaction): boolean {
  const { assetIndex, receiver: account } = payment.assetTransfer!
  if (transfer?.assetIndex !== assetIndex) return false
  const { amount, receiver, assetSender, closeRemainderTo } = transfer
  if (amount === 0n && closeRemainderTo === undefined) return false
  return [sender, receiver, assetSender, closeRemainderTo].some(
    party => party !== undefined && Buffer.compare(party.publicKey, account.publicKey) === 0,
  )
}
