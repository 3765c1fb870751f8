/** The checks of a node before it reads balances: sizes, validity ranges, the group's id, the signatures. */
import type { SignedTransaction } from 'algosdk'
import { encodeBase32 } from '../adapters/algorand/base32.js'
import { isSignedBy } from '../adapters/algorand/facilitating/canonical-and-signed.js'
import { encoded } from '../adapters/algorand/facilitating/encoded-transactions.js'
import { GROUP_SIZE_MAX, groupIdOf } from '../adapters/algorand/transaction-bytes.js'
import type { Refusal } from './node-refusal.js'

const VALIDITY_ROUNDS_MAX = 1_000n

export function formRefusal(group: readonly SignedTransaction[]): Refusal | undefined {
  return sizeRefusal(group.length) ?? rangeRefusal(group) ?? groupIdRefusal(group) ?? signatureRefusal(group)
}

function sizeRefusal(size: number): Refusal | undefined {
  if (size === 0) return { stage: 'request', message: 'empty txgroup' }
  if (size <= GROUP_SIZE_MAX) return undefined
  return {
    stage: 'request',
    message: `transaction group size ${size} exceeds protocol max ${GROUP_SIZE_MAX}`,
  }
}

function rangeRefusal(group: readonly SignedTransaction[]): Refusal | undefined {
  for (const [at, { txn }] of group.entries()) {
    const range = `(${txn.firstValid}--${txn.lastValid})`
    if (txn.lastValid < txn.firstValid) return form(at, `transaction invalid range ${range}`)
    if (txn.lastValid - txn.firstValid > VALIDITY_ROUNDS_MAX) {
      return form(at, `transaction window size excessive ${range}`)
    }
  }
}

function groupIdRefusal(group: readonly SignedTransaction[]): Refusal | undefined {
  const claimed = group[0]!.txn.group
  if (group.length === 1 && !claimed) return undefined
  for (const [at, { txn }] of group.entries()) {
    if (!txn.group) {
      return form(
        at,
        `transactionGroup: [${at}] had zero Group but was submitted in a group of ${group.length}`,
      )
    }
    if (Buffer.compare(txn.group, claimed!) !== 0) {
      const values = `${encodeBase32(claimed!)} != ${encodeBase32(txn.group)}`
      return form(at, `transactionGroup: inconsistent group values: ${values}`)
    }
  }
  const hashes = group.map(({ txn }) => encoded(txn).ungroupedHash)
  const computed = groupIdOf(hashes)
  if (computed.equals(claimed!)) return undefined
  const values = `${encodeBase32(claimed!)} != ${encodeBase32(computed)}`
  return {
    stage: 'request',
    message: `transactionGroup: incomplete group: ${values} ({{} [${hashes.map(encodeBase32).join(' ')}]})`,
  }
}

function signatureRefusal(group: readonly SignedTransaction[]): Refusal | undefined {
  for (const [at, signed] of group.entries()) {
    if (signed.msig ?? signed.lsig ?? signed.pqsig) {
      return form(
        at,
        'the sandbox ledger knows ed25519 signatures only: no multisig, logicsig or post-quantum ones',
      )
    }
    if (!signed.sig) return form(at, 'transaction {...} invalid : signedtxn has no sig')
    if (!isSignedBy(signed, (signed.sgnr ?? signed.txn.sender).publicKey)) {
      return { stage: 'request', message: `At least one signature didn't pass verification`, at }
    }
  }
}

function form(at: number, message: string): Refusal {
  return { stage: 'form', message, at }
}
