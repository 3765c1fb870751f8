/** The checks of a node before it reads balances: sizes, validity ranges, the group's id, the signatures. */
import {
  Address,
  type EncodedMultisig,
  multisigAddress,
  type SignedTransaction,
  type Transaction,
} from 'algosdk'
import { encodeBase32 } from '../adapters/algorand/address.js'
import { encoded, GROUP_SIZE_MAX, groupIdOf } from '../adapters/algorand/transaction-hashes.js'
import { isSignedBy } from '../facilitator/remembered-checks.js'

/** A refusal with the messages of go-algorand (v5.0): clients parse them, and people who debug clients read them. */
export interface Refusal {
  readonly message: string
  /**
   * The stage at which a node refuses, which decides how it answers:
   * - `request`: 400 to a simulation and a submission alike;
   * - `form`: a simulation's failure message, and 400 to a submission;
   * - `fields`: the same, and the submission's message shows the transaction;
   * - `ledger`: the same, and the submission's message names the transaction pool;
   * - `unemulated`: a node would do it, and the sandbox cannot: 501 to both.
   */
  readonly stage: 'request' | 'form' | 'fields' | 'ledger' | 'unemulated'
  readonly at?: number
}

/** A node prints the transaction as a Go value of 3 kB. Nobody parses that. */
export const INVALID = 'transaction {...} invalid : '

/** Microalgos as go-algorand prints them: 5uA, 1mA, 1.500mA, 2A. */
export function algoText(microAlgos: bigint): string {
  if (microAlgos === 0n) return '0.0A'
  if (microAlgos < 1_000n) return `${microAlgos}uA`
  if (microAlgos < 1_000_000n) return `${decimal(microAlgos, 3)}mA`
  return `${decimal(microAlgos, 6)}A`
}

function decimal(value: bigint, places: number): string {
  const digits = value.toString().padStart(places + 1, '0')
  const fraction = digits.slice(-places)
  return Number(fraction) === 0 ? digits.slice(0, -places) : `${digits.slice(0, -places)}.${fraction}`
}

const VALIDITY_ROUNDS_MAX = 1_000n
const NOTE_BYTES_MAX = 4_096
const NO_GROUP = new Uint8Array(32)

export interface SignatureRules {
  /** A simulation may ask for this. */
  readonly allowEmptySignatures?: boolean
}

export function formRefusal(
  group: readonly SignedTransaction[],
  rules: SignatureRules = {},
): Refusal | undefined {
  return (
    sizeRefusal(group.length) ??
    fieldsRefusal(group) ??
    groupIdRefusal(group) ??
    signatureRefusal(group, rules)
  )
}

function sizeRefusal(size: number): Refusal | undefined {
  if (size === 0) return { stage: 'request', message: 'empty txgroup' }
  if (size <= GROUP_SIZE_MAX) return undefined
  return {
    stage: 'request',
    message: `transaction group size ${size} exceeds protocol max ${GROUP_SIZE_MAX}`,
  }
}

function fieldsRefusal(group: readonly SignedTransaction[]): Refusal | undefined {
  for (const [at, { txn }] of group.entries()) {
    const message = rangeMessage(txn) ?? closeMessage(txn) ?? noteMessage(txn)
    if (message) return { stage: 'fields', message, at }
  }
}

function rangeMessage({ firstValid, lastValid }: Transaction): string | undefined {
  const range = `(${firstValid}--${lastValid})`
  if (lastValid < firstValid) return `transaction invalid range ${range}`
  if (lastValid - firstValid > VALIDITY_ROUNDS_MAX) return `transaction window size excessive ${range}`
}

function closeMessage({ sender, payment }: Transaction): string | undefined {
  const to = payment?.closeRemainderTo?.toString()
  if (to === sender.toString()) return `transaction cannot close account to its sender ${to}`
}

function noteMessage({ note }: Transaction): string | undefined {
  if (note.length > NOTE_BYTES_MAX) return `transaction note too big: ${note.length} > ${NOTE_BYTES_MAX}`
}

function groupIdRefusal(group: readonly SignedTransaction[]): Refusal | undefined {
  const claimed = group[0]!.txn.group
  if (group.length === 1 && !claimed) return undefined
  if (!claimed)
    return form(0, `transactionGroup: [0] had zero Group but was submitted in a group of ${group.length}`)
  for (const [at, { txn }] of group.entries()) {
    const { group: id = NO_GROUP } = txn
    if (Buffer.compare(id, claimed) === 0) continue
    const values = `${encodeBase32(claimed)} != ${encodeBase32(id)}`
    return form(at, `transactionGroup: inconsistent group values: ${values}`)
  }
  const hashes = group.map(({ txn }) => encoded(txn).ungroupedHash)
  const computed = groupIdOf(hashes)
  if (computed.equals(claimed)) return undefined
  const values = `${encodeBase32(claimed)} != ${encodeBase32(computed)}`
  return {
    stage: 'request',
    message: `transactionGroup: incomplete group: ${values} ({{} [${hashes.map(encodeBase32).join(' ')}]})`,
  }
}

function signatureRefusal(
  group: readonly SignedTransaction[],
  { allowEmptySignatures = false }: SignatureRules,
): Refusal | undefined {
  for (const [at, signed] of group.entries()) {
    const { txn, sgnr, sig, msig, lsig, pqsig } = signed
    if (lsig ?? pqsig) {
      const message =
        'not emulated: the sandbox ledger knows ed25519 signatures only, alone or in a multisig, no programs and no post-quantum ones'
      return { stage: 'unemulated', message, at }
    }
    if (sgnr?.toString() === txn.sender.toString())
      return form(at, `${INVALID}AuthAddr must be different from Sender`)
    const author = sgnr ?? txn.sender
    if (msig) {
      const refused = multisigMessage(msig, author)
      if (refused) return form(at, `${INVALID}multisig validation failed: ${refused}`)
    } else if (!sig) {
      if (allowEmptySignatures) continue
      return form(at, `${INVALID}signedtxn has no sig`)
    }
    const isSigned = msig ? isSignedByMany(signed, msig) : isSignedBy(signed, author.publicKey)
    if (!isSigned) return { stage: 'request', message: `At least one signature didn't pass verification`, at }
  }
}

function multisigMessage({ v, thr, subsig }: EncodedMultisig, author: Address): string | undefined {
  if (v !== 1) return 'unknown version'
  const addrs = subsig.map(({ pk }) => new Address(pk))
  if (thr === 0 || subsig.length === 0 || thr > subsig.length) return 'Invalid threshold'
  if (!multisigAddress({ version: v, threshold: thr, addrs }).equals(author)) return 'Invalid address'
  if (subsig.filter(({ s }) => s).length < thr) return 'Invalid number of signatures'
}

/** Every signature that is there must be right, also the ones beyond the threshold. */
function isSignedByMany({ txn }: SignedTransaction, { subsig }: EncodedMultisig): boolean {
  return subsig.every(({ pk, s }) => !s || isSignedBy({ txn, sig: s }, pk))
}

function form(at: number, message: string): Refusal {
  return { stage: 'form', message, at }
}
