/** The steps that the check of one input may take. Checks are synchronous, so there is one at a time. */
import { canonicalJson } from '../../domain/json.js'

/** A step takes 25 to 100 ns: all together take a few tenths of a second. */
export const STEPS_MAX = 4_000_000
/** Of a text that V8 reads once, in 1 to 10 ns a character. */
export const STEPS_A_CHARACTER = 1 / 8
/** Of the canonical text of a value. */
const STEPS_A_CHARACTER_WRITTEN = 1 / 2

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

/** The same for equal JSON values, and other for others. The text of an object or a list costs steps. */
export function identityOf(value: unknown): unknown {
  if (typeof value === 'string') return `"${value}`
  if (typeof value !== 'object' || value === null) return value
  const text = canonicalJson(value)
  spend(text.length * STEPS_A_CHARACTER_WRITTEN)
  return text
}
