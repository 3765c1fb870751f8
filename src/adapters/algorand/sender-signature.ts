/** Whether a transaction's sender signed it. The ledger's rules, of which those that need the ledger are left out. */
import type { EncodedMultisig, SignedTransaction } from 'algosdk'
import { concatBytes, equalBytes } from '../../domain/byte-arrays.js'
import { verifySignature } from './signing-keys.js'
import { hashOf } from './transaction-bytes.js'

/** Each takes 0.11 ms to check, and strangers send them. */
const SUBSIGNATURES_MAX = 16

const MULTISIG_VERSION = 1
const MULTISIG_PREFIX = Buffer.from('MultisigAddr')

/**
 * Whether the sender's own key, or enough keys of a multisig sender, signed this text. False for a program, for a post-quantum
 * signature, and where another key signs for the account (`sgnr`): which one may is known to the ledger alone.
 */
export function isSignedBySender(
  { txn, sig, msig, sgnr }: SignedTransaction,
  signedText: Uint8Array,
): boolean {
  if (sgnr !== undefined) return false
  const { publicKey } = txn.sender
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
