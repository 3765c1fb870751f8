/** What was renamed keeps what it sold under its first name. */
import { shown } from './errors.js'

/** The first of a thing's names, by which stores keep what it sold. */
export function firstName(name: string, formerly: readonly string[] = []): string {
  return formerly[0] ?? name
}

export function formerNames(
  given: unknown,
  format: RegExp,
  refuse: (why: string) => never,
): { readonly formerly?: readonly string[] } {
  if (given === undefined) return {}
  if (Array.isArray(given) && given.every(name => typeof name === 'string' && format.test(name)))
    return { formerly: Object.freeze([...given]) }
  return refuse(`formerly is a list of earlier names, the first one first, not ${shown(given)}`)
}
