/** The steps that the check of one input may take. Checks are synchronous, so there is one at a time. */

/** A step takes 25 to 100 ns: all together take a few tenths of a second. */
export const STEPS_MAX = 4_000_000
/** Of a text that V8 reads once, in 1 to 10 ns a character. */
export const STEPS_A_CHARACTER = 1 / 8

let stepsLeft = 0

/** Ends a check without a result: the input is neither valid nor invalid. */
export class TooManySteps extends Error {}

/** Call it before each check. */
export function beginCheck(): void {
  stepsLeft = STEPS_MAX
}

export function spend(steps: number): void {
  stepsLeft -= steps
  if (stepsLeft < 0) throw new TooManySteps()
}
