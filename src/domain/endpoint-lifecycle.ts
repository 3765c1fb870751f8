/** When an endpoint will stop answering, and the names that it or its agent had. */
import { invalid, listOf, type Option, optional } from './option-checks.js'

/** ISO 8601 moments in UTC, as `Date.toISOString` writes them. */
export interface Lifecycle {
  /** From when callers should use another endpoint. @see RFC 9745 */
  readonly deprecated?: string
  /** When it is expected to stop. @see RFC 8594 */
  readonly sunset?: string
}

const ISO_8601 = /^\d{4}-(\d{2})-(\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/

const moment: Option<string | undefined> = (given, name) => {
  if (given === undefined) return undefined
  const parsed = given instanceof Date ? given : new Date(isReal(given) ? given : Number.NaN)
  if (!Number.isNaN(parsed.getTime())) return parsed.toISOString()
  throw invalid(`${name} is a Date or ISO 8601 text such as '2026-12-31', not ${JSON.stringify(given)}`)
}

export const LIFECYCLE = {
  deprecated: moment,
  sunset: moment,
} satisfies Record<keyof Lifecycle, Option<unknown>>

/** JavaScript reads the 30th of February as the 2nd of March, so this compares the parsed date with its text. */
function isReal(value: unknown): value is string {
  const match = typeof value === 'string' ? ISO_8601.exec(value) : null
  if (!match) return false
  const year = Number((value as string).slice(0, 4))
  const [, month, day] = match.map(Number)
  return day! <= new Date(Date.UTC(year, month!, 0)).getUTCDate()
}

/** The first name of what was renamed. Stores keep by it what was sold. */
export function firstName(name: string, formerly: readonly string[] = []): string {
  return formerly[0] ?? name
}

/** All that it is and was named: what was begun under an earlier name goes on. */
export const everyName = (name: string, formerly: readonly string[] = []) => [name, ...formerly]

export function formerNames(format: RegExp): Option<readonly string[] | undefined> {
  const isName = (name: unknown) => typeof name === 'string' && format.test(name)
  return optional(listOf(isName, 'a list of earlier names, the first one first'))
}
