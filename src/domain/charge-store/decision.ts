/** What a move answers, and the records that it leaves. */
import type { Claim, Payment, Units } from './records.js'

/** The records are stored in this order. */
export interface Decision<Verdict> {
  readonly verdict: Verdict
  readonly claims: readonly Claim[]
  readonly payments: readonly Payment[]
  readonly units?: Units | undefined
}

export const NONE: readonly never[] = []

export function unchanged<Verdict>(verdict: Verdict): Decision<Verdict> {
  return { verdict, claims: NONE, payments: NONE }
}

export function leaving<Verdict>(
  verdict: Verdict,
  claim?: Claim,
  payment?: Payment,
  units?: Units,
): Decision<Verdict> {
  return { verdict, claims: claim ? [claim] : NONE, payments: payment ? [payment] : NONE, units }
}
