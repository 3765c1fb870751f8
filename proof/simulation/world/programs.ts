/** One program runs in this world, and says yes to every transaction. Accounts delegate to it: the sandbox's ledger runs none. */

import { LogicSig, PROGRAM_TAG, SignedTransaction } from 'algosdk'
import type { Ledger, SigningKey } from '../../../src/simulation-parts.js'

/** `int 1` */
const SAYS_YES = Uint8Array.of(1, 0x20, 1, 1, 0x22)
const TEXT = Buffer.concat([PROGRAM_TAG, SAYS_YES])

const delegating = new Map<string, SigningKey>()

/** What stands in the place of this account's signature. */
export function delegated(key: SigningKey): LogicSig {
  delegating.set(key.address, key)
  const program = new LogicSig(SAYS_YES)
  program.sig = key.sign(TEXT)
  return program
}

/** A ledger that takes what the program says yes to as if the account's own key had signed it. */
export function runningTheProgram(ledger: Ledger): Ledger {
  const run = (group: readonly SignedTransaction[]) => group.map(signedByAccount)
  return {
    ...ledger,
    simulate: group => ledger.simulate(run(group)),
    evaluate: (group, simulated) => ledger.evaluate(run(group), simulated),
    submit: group => ledger.submit(run(group)),
  }
}

function signedByAccount(signed: SignedTransaction): SignedTransaction {
  const { txn, lsig } = signed
  const key = delegating.get(txn.sender.toString())
  const isDelegated = key && lsig?.sig && Buffer.compare(lsig.sig, key.sign(TEXT)) === 0
  const saysYes = isDelegated && Buffer.compare(lsig.logic, SAYS_YES) === 0
  return saysYes ? new SignedTransaction({ txn, sig: key.sign(txn.bytesToSign()) }) : signed
}
