/** Reads the payment inside `payload.paymentGroup[payload.paymentIndex]`. Promise: see the port. */
import { hash } from 'node:crypto'
import type { EncodedMultisig, SignedTransaction } from 'algosdk'
import { LRUCache } from 'lru-cache'
import { verifySignature } from '#platform'
import { concatBytes, equalBytes } from '../../domain/bytes.js'
import { isRecord, type PaymentPayload } from '../../domain/x402.js'
import type { PaymentReader, ReadPayment } from '../../ports/payment-reader.js'
import { encodeAddress, encodeBase32 } from './address.js'
import { decodeMember, encodedWith } from './decode-by-algosdk.js'
import { groupFacts } from './judge-payment-group.js'
import { readCanonical, type TransactionFacts, type Transfer } from './read-canonical-transaction.js'
import { GROUP_SIZE_MAX, hashOf, textToSign } from './transaction-hashes.js'

/** The length of a group's base64 texts together. A sponsored payment is below 1 kB. */
const GROUP_TEXT_MAX = 65_536

/** The base64 texts of the groups that are remembered, together: some four thousand payments. */
const REMEMBERED_TEXT_MAX = 4_194_304

/**
 * Remembers the latest payments whose signature was checked, by the digest of what was read: each replay under an idempotency
 * key reads its payment again. Decoding it takes 110 µs and its signature 110, the digest 5.
 */
export function algorandPaymentReader(): PaymentReader {
  const proven = new LRUCache<string, ReadPayment>({ maxSize: REMEMBERED_TEXT_MAX })
  return {
    read(payload) {
      const group = groupOf(payload)
      if (group === undefined) return undefined
      const known = proven.size > 0 ? proven.get(digestOf(group)) : undefined
      return known ?? read(group, reading => proven.set(digestOf(group), reading, { size: group.length }))
    },
  }
}

/** JSON keeps texts apart: one group's texts joined may be another's. */
function digestOf({ texts, index }: Group): string {
  return hash('sha256', JSON.stringify([index, texts]), 'base64url')
}

function read(group: Group, onProven: (reading: ReadPayment) => void): ReadPayment | undefined {
  const { texts, index } = group
  try {
    // The payment comes first: without it, fifteen others need no decoding.
    const payment = memberIn(texts[index]!)
    const transfer = payment?.txn.assetTransfer
    if (!payment?.signed || !transfer || !isSigned(payment.signed)) return undefined
    const members = texts.map((text, at) => (at === index ? payment : memberIn(text)))
    const isWhole = members.every(member => member !== undefined)
    return isWhole ? readPayment(group, members, transfer, onProven) : undefined
  } catch {
    return undefined
  }
}

interface Member {
  readonly txn: TransactionFacts
  /** Present where it came in the wrapper of signatures, even an empty one. */
  readonly signed?: Signatures | undefined
  /** The bytes that are signed, and whose hash is the id. */
  readonly signedText: Uint8Array
  /** With its signatures, in the canonical encoding. */
  readonly wrapper: Uint8Array
}

type Signatures = Pick<SignedTransaction, 'sig' | 'msig' | 'lsig' | 'pqsig' | 'sgnr'>

/** As lenient about base64 as facilitators are: each payment that they can read must have an id here. */
function memberIn(text: string): Member | undefined {
  const bytes = Buffer.from(text, 'base64')
  const canonical = readCanonical(bytes)
  if (canonical) return { signedText: textToSign(canonical.encoding), wrapper: bytes, ...canonical }
  const decoded = decodeMember(bytes)
  if (decoded === undefined) return undefined
  const { txn, signed } = decoded
  const signedText = textToSign(txn.toByte())
  return { txn, signed, signedText, wrapper: signed ? encodedWith(signed, signedText) : bytes }
}

function readPayment(
  { texts, index }: Group,
  members: readonly Member[],
  transfer: Transfer,
  onProven: (reading: ReadPayment) => void,
): ReadPayment {
  const payment = members[index]!
  const { txn, signedText } = payment
  const signed = payment.signed!
  const { sig, sgnr } = signed
  const txId = encodeBase32(hashOf(signedText))
  let isProven: boolean | undefined
  const reading: ReadPayment = {
    txId,
    payer: encodeAddress(txn.sender.publicKey),
    receiver: receiverOf(transfer.receiver.publicKey),
    amount: transfer.amount,
    asset: transfer.assetIndex.toString(),
    ...groupFacts(members, index),
    sponsor: sponsorOf(members),
    genesisHash: txn.genesisHash && Buffer.from(txn.genesisHash).toString('base64'),
    // No getter: in a literal it would give each payment a shape of its own, which V8 keeps until its next full collection.
    wrapperDigest: hash('sha256', payment.wrapper, 'base64url'),
    isOfGroup: isIdOf(texts, txId),
    isSignedByPayer: signedBy(sig && sgnr === undefined ? txn.sender.publicKey : undefined),
    proven() {
      if (isProven === undefined) {
        isProven = isSignedBySender(txn.sender.publicKey, signed, signedText)
        // Without this function, which keeps the decoded transactions.
        if (isProven) onProven({ ...reading, proven: () => true })
      }
      return isProven
    },
  }
  return reading
}

function signedBy(publicKey: Uint8Array | undefined): ReadPayment['isSignedByPayer'] {
  return (bytes, signature) =>
    publicKey !== undefined && verifySignature(publicKey, bytes, Buffer.from(signature, 'base64'))
}

/** A function of the texts: what is remembered keeps no decoded transaction. */
function isIdOf(texts: readonly string[], txId: string): (id: string) => boolean {
  return id => id === txId || texts.some(text => idIn(text) === id)
}

function idIn(text: string): string | undefined {
  try {
    return encodeBase32(hashOf(memberIn(text)!.signedText))
  } catch {
    return undefined
  }
}

interface Group {
  readonly texts: readonly string[]
  readonly index: number
  /** Of all texts. */
  readonly length: number
}

function groupOf(payment: PaymentPayload): Group | undefined {
  if (!isRecord(payment) || !isRecord(payment.payload)) return undefined
  const { paymentGroup, paymentIndex } = payment.payload
  if (!Array.isArray(paymentGroup) || paymentGroup.length > GROUP_SIZE_MAX) return undefined
  if (typeof paymentIndex !== 'number' || !Number.isInteger(paymentIndex)) return undefined
  if (paymentIndex < 0 || paymentIndex >= paymentGroup.length) return undefined
  const texts: string[] = []
  let length = 0
  for (const text of paymentGroup as unknown[]) {
    if (typeof text !== 'string') return undefined
    length += text.length
    if (length > GROUP_TEXT_MAX) return undefined
    texts.push(text)
  }
  return { texts, index: paymentIndex, length }
}

/** As facilitators take it: the wrapper of signatures may be there and hold none. */
function sponsorOf(members: readonly Member[]): string | undefined {
  const unsigned = members.find(({ signed }) => !(signed && isSigned(signed)))
  return unsigned && addressOfSponsor(unsigned.txn.sender.publicKey)
}

/** One seller is paid by all calls, and one facilitator sponsors them: comparing a key takes a tenth of encoding its address. */
const [receiverOf, addressOfSponsor] = [rememberingLast(), rememberingLast()]

function rememberingLast(): (publicKey: Uint8Array) => string {
  let [key, address] = [new Uint8Array(), '']
  return publicKey => {
    if (Buffer.compare(publicKey, key) === 0) return address
    key = Uint8Array.from(publicKey)
    address = encodeAddress(publicKey)
    return address
  }
}

function isSigned({ sig, msig, lsig, pqsig }: Signatures): boolean {
  return (sig ?? msig ?? lsig ?? pqsig) !== undefined
}

/** Each takes 0.11 ms to check, and strangers send them. */
const SUBSIGNATURES_MAX = 16

const MULTISIG_VERSION = 1
const MULTISIG_PREFIX = Buffer.from('MultisigAddr')

/**
 * Whether the sender's own key, or enough keys of a multisig sender, signed this text. False for a program, for a post-quantum
 * signature, and where another key signs for the account (`sgnr`): which one may is known to the ledger alone.
 */
function isSignedBySender(
  publicKey: Uint8Array,
  { sig, msig, sgnr }: Signatures,
  signedText: Uint8Array,
): boolean {
  if (sgnr !== undefined) return false
  if (sig !== undefined) return verifySignature(publicKey, signedText, sig)
  return msig !== undefined && isOfMultisig(msig, publicKey) && isSignedByMany(msig, signedText)
}

/** One key twice is lawful on the ledger, where it weighs more. It is refused here: a threshold counts keys, not entries. */
function isOfMultisig({ v, thr, subsig }: EncodedMultisig, sender: Uint8Array): boolean {
  if (v !== MULTISIG_VERSION || thr < 1 || thr > subsig.length || subsig.length > SUBSIGNATURES_MAX)
    return false
  const keys = subsig.map(({ pk }) => pk)
  if (new Set(keys.map(key => Buffer.from(key).toString('latin1'))).size < keys.length) return false
  return equalBytes(hashOf(concatBytes([MULTISIG_PREFIX, Buffer.of(v, thr), ...keys])), sender)
}

/** Every signature that is there must be right, as on the ledger, also those beyond the threshold. */
function isSignedByMany({ thr, subsig }: EncodedMultisig, signedText: Uint8Array): boolean {
  const signing = subsig.filter(({ s }) => s !== undefined)
  return signing.length >= thr && signing.every(({ pk, s }) => verifySignature(pk, signedText, s!))
}
