/** Reads the payment inside `payload.paymentGroup[payload.paymentIndex]`. Promise: see the port. */
import type { AssetTransferTransactionFields, SignedTransaction, Transaction } from 'algosdk'
import { isRecord, type PaymentPayload } from '../../domain/x402.js'
import type { PaymentReader, ReadPayment } from '../../ports/payment-reader.js'
import { encodeAddress } from './address.js'
import { encodeBase32 } from './base32.js'
import { decodeMember, type GroupMember } from './decode-transaction.js'
import { groupFacts } from './payment-beside-others.js'
import { verifySignature } from './signing-keys.js'
import { bytesToSign, GROUP_SIZE_MAX, hashOf, txIdOf } from './transaction-bytes.js'

/** The length of a group's base64 texts together. A sponsored payment is below 1 kB. */
const GROUP_TEXT_MAX = 65_536

export function algorandPaymentReader(): PaymentReader {
  return { read }
}

function read(payload: PaymentPayload): ReadPayment | undefined {
  try {
    const { texts, index } = groupOf(payload) ?? {}
    if (!texts || index === undefined) return undefined
    // The payment comes first: without it, fifteen others need no decoding.
    const signed = memberIn(texts[index]!)?.signed
    const transfer = signed?.txn.assetTransfer
    if (!signed || !transfer || !isSigned(signed)) return undefined
    const group = texts.map((text, at) => (at === index ? signed : memberIn(text)))
    return group.every(isMember) ? readPayment(group, index, signed, transfer) : undefined
  } catch {
    return undefined
  }
}

/** As lenient about base64 as facilitators are: each payment that they can read must have an id here. */
function memberIn(text: string): GroupMember | undefined {
  return decodeMember(Buffer.from(text, 'base64'))
}

function readPayment(
  group: readonly GroupMember[],
  index: number,
  signed: SignedTransaction,
  transfer: AssetTransferTransactionFields,
): ReadPayment {
  const { txn, sig } = signed
  const signedText = bytesToSign(txn)
  const txId = encodeBase32(hashOf(signedText))
  let proven: boolean | undefined
  return {
    txId,
    payer: encodeAddress(txn.sender.publicKey),
    receiver: encodeAddress(transfer.receiver.publicKey),
    amount: transfer.amount,
    asset: transfer.assetIndex.toString(),
    ...groupFacts(
      group.map(({ txn }) => txn),
      index,
      signedText,
    ),
    signature: sig && Buffer.from(sig).toString('base64'),
    genesisHash: txn.genesisHash && Buffer.from(txn.genesisHash).toString('base64'),
    isOfGroup: id => id === txId || group.some(({ txn }) => isIdOf(id, txn)),
    proven() {
      proven ??= sig !== undefined && verifySignature(txn.sender.publicKey, signedText, sig)
      return proven
    },
  }
}

function isIdOf(txId: string, txn: Transaction): boolean {
  try {
    return txIdOf(txn) === txId
  } catch {
    return false
  }
}

function groupOf({ payload }: PaymentPayload): { texts: string[]; index: number } | undefined {
  if (!isRecord(payload)) return undefined
  const { paymentGroup, paymentIndex } = payload
  if (!Array.isArray(paymentGroup) || paymentGroup.length > GROUP_SIZE_MAX) return undefined
  if (typeof paymentIndex !== 'number' || !Number.isInteger(paymentIndex)) return undefined
  if (paymentIndex < 0 || paymentIndex >= paymentGroup.length) return undefined
  let length = 0
  for (const text of paymentGroup as unknown[]) {
    if (typeof text !== 'string') return undefined
    length += text.length
    if (length > GROUP_TEXT_MAX) return undefined
  }
  return { texts: paymentGroup as string[], index: paymentIndex }
}

function isMember(member: GroupMember | undefined): member is GroupMember {
  return member !== undefined
}

function isSigned({ sig, msig, lsig, pqsig }: SignedTransaction): boolean {
  return (sig ?? msig ?? lsig ?? pqsig) !== undefined
}
