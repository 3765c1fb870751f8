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
