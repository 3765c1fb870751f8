/**
 * The group that a payment lands with: the rounds in which all of it is valid, and what speaks against it. Wallets pay in
 * groups that also opt in, call applications (to swap) and transfer.
 */
import type { ReadPayment } from '../../ports/payment-reader.js'
import type { TransactionFacts } from './read-canonical-transaction.js'
import { isWholeGroup, ungroupedHashOf } from './transaction-hashes.js'

interface Member {
  readonly txn: TransactionFacts
  /** The bytes that are signed. */
  readonly signedText: Uint8Array
}

export function groupFacts(
  members: readonly Member[],
  index: number,
): Pick<ReadPayment, 'firstValid' | 'lastValid' | 'groupProblem'> {
  const group = members.map(({ txn }) => txn)
  const payment = group[index]!
  const hashAt = (at: number) => ungroupedHashOf(members[at]!.signedText.subarray(TX_BYTES))
  // In a group that is not whole, the other transactions may be from anyone: their rounds say nothing about the payment.
  if (!isWholeGroup(group, hashAt))
    return { firstValid: payment.firstValid, lastValid: payment.lastValid, groupProblem: 'notWhole' }
  const { firstValid, lastValid } = commonRounds(group)
  return { firstValid, lastValid, groupProblem: problemOf(group, payment, firstValid > lastValid) }
}

function problemOf(group: readonly TransactionFacts[], payment: TransactionFacts, neverValid: boolean) {
  if (neverValid) return 'noCommonRound'
  if (!isPlain(payment)) return 'notPlain'
  return group.some(txn => txn !== payment && movesTheSame(txn, payment)) ? 'anotherTransfer' : undefined
}

/** The length of the prefix `TX`. */
const TX_BYTES = 2

function commonRounds(group: readonly TransactionFacts[]): { firstValid: bigint; lastValid: bigint } {
  let { firstValid, lastValid } = group[0]!
  for (const txn of group) {
    if (txn.firstValid > firstValid) firstValid = txn.firstValid
    if (txn.lastValid < lastValid) lastValid = txn.lastValid
  }
  return { firstValid, lastValid }
}

/** Whether the payment moves its amount, from its sender, and does nothing else. */
function isPlain({ assetTransfer, rekeyTo }: TransactionFacts): boolean {
  return rekeyTo === undefined && !assetTransfer?.closeRemainderTo && !assetTransfer?.assetSender
}

/** Whether this transaction moves the payment's asset to or from the account that is paid. An opt-in moves nothing. */
function movesTheSame(
  { sender, assetTransfer: transfer }: TransactionFacts,
  payment: TransactionFacts,
): boolean {
  const { assetIndex, receiver: account } = payment.assetTransfer!
  if (transfer?.assetIndex !== assetIndex) return false
  const { amount, receiver, assetSender, closeRemainderTo } = transfer
  if (amount === 0n && closeRemainderTo === undefined) return false
  return [sender, receiver, assetSender, closeRemainderTo].some(
    party => party !== undefined && Buffer.compare(party.publicKey, account.publicKey) === 0,
  )
}
