/** The steps that the check of one input may take. Checks are synchronous, so there is one at a time. */

/** A step takes 25 to 100 ns: all together take a few tenths of a second. */
export const STEPS_MAX = 4_000_000
/** Of a text that V8 reads once, in 1 to 10 ns a character. */
export const STEPS_A_CHARACTER = 1 / 8

let stepsLeft = 0
let identities: Identities | undefined

/** Ends a check without a result: the input is neither valid nor invalid. */
export class TooManySteps extends Error {}

/** Call it before each check. */
export function beginCheck(): void {
  stepsLeft = STEPS_MAX
  identities = undefined
}

export function spend(steps: number): void {
  stepsLeft -= steps
  if (stepsLeft < 0) throw new TooManySteps()
}

/** A number that is the same for equal values and differs for others, within one check. */
export function identityOf(value: unknown): number {
  identities ??= new Identities()
  return identities.of(value)
}

/** Reads each value once in a check, however many arrays around it must have unique items. */
class Identities {
  readonly #ofObjects = new Map<object, number>()
  readonly #ofScalars = new Map<unknown, number>()
  /** Identities of lists and records, by the identities of their contents. */
  readonly #ofContents = new Map<string, number>()
  #next = 0

  of(value: unknown): number {
    if (typeof value !== 'object' || value === null) return this.#numbered(this.#ofScalars, value)
    const known = this.#ofObjects.get(value)
    if (known !== undefined) return known
    const identity = this.#numbered(this.#ofContents, this.#contentsOf(value))
    this.#ofObjects.set(value, identity)
    return identity
  }

  #contentsOf(value: object): string {
    if (Array.isArray(value)) return `[${value.map(item => this.of(item)).join()}`
    const fields = Object.entries(value).map(([name, field]) => `${this.of(name)}:${this.of(field)}`)
    return fields.sort().join()
  }

  #numbered<Key>(identities: Map<Key, number>, key: Key): number {
    const known = identities.get(key)
    if (known !== undefined) return known
    identities.set(key, this.#next)
    return this.#next++
  }
}
