/** A name that the table does not have is refused: an option that went unread would leave its default in force. */
import { SdkError, type SvcError, shown } from './errors.js'
import { usdToBaseUnits } from './money.js'

/** Checks one option, or gives its default. `name` is the option's, for messages. */
export interface Option<T> {
  (given: unknown, name: string): T
  /** The options that stand in it. */
  readonly table?: OptionTable
}

export type OptionTable = Readonly<Record<string, Option<unknown>>>

/** What {@link readOptions} makes of a table. */
export type ReadOptions<Table extends OptionTable> = {
  readonly [Name in keyof Table]: ReturnType<Table[Name]>
}

export function invalid(message: string): SvcError {
  return new SdkError(message, 'invalid_options')
}

function refuseOptions(why: string): never {
  throw invalid(why)
}

export function readOptions<Table extends OptionTable>(
  given: object,
  table: Table,
  group = '',
): ReadOptions<Table> {
  if (typeof given !== 'object' || given === null)
    throw invalid(`${group || 'What holds the options'} is an object, not ${shown(given)}`)
  refuseUnknown(given, Object.keys(table), group, refuseOptions, table)
  const read = Object.entries(table).map(([name, option]) => {
    return [name, option(given[name as never], named(group, name))] as const
  })
  return Object.fromEntries(read) as ReadOptions<Table>
}

/** The options of a table at all levels, by their whole names, such as `rateLimit.perMinute`. */
export function optionNames(table: OptionTable, group = ''): readonly string[] {
  return Object.entries(table).flatMap(([name, { table: inner = {} }]) => {
    return [named(group, name), ...optionNames(inner, named(group, name))]
  })
}

/** Says which known name is the nearest. `group` is the option that it stands in; a name of another group is found there. */
export function refuseUnknown(
  given: object,
  known: readonly string[],
  group = '',
  refuse: (why: string) => never = refuseOptions,
  table: OptionTable = {},
): void {
  const unknown = Object.keys(given).find(name => !known.includes(name))
  if (unknown === undefined) return
  const meant = optionNames(table).find(name => name.endsWith(`.${unknown}`)) ?? nearest(unknown, known)
  const hint = meant === undefined ? '' : `. Did you mean '${named(group, meant)}'?`
  refuse(`unknown option ${shown(named(group, unknown))}${hint}`)
}

function named(group: string, name: string): string {
  return group === '' ? name : `${group}.${name}`
}

export function nearest(name: string, known: readonly string[]): string | undefined {
  const changes = (other: string) => changesBetween(name.toLowerCase(), other.toLowerCase())
  const best = known.reduce((one, other) => (changes(other) < changes(one) ? other : one))
  return changes(best) <= Math.max(2, name.length / 3) ? best : undefined
}

/** How many characters have to be inserted, deleted or replaced (Levenshtein). */
function changesBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [at, character] of [...one].entries()) {
    const next = [at + 1]
    for (let to = 1; to <= other.length; to++) {
      const replaced = row[to - 1]! + Number(character !== other[to - 1])
      next.push(Math.min(replaced, row[to]! + 1, next[to - 1]! + 1))
    }
    row = next
  }
  return row[other.length]!
}

/** Any value: it is checked where it is used. */
export function asGiven<T>(): Option<T> {
  return given => given as T
}

export function optional<T>(option: Option<T>): Option<T | undefined> {
  return (given, name) => (given === undefined ? undefined : option(given, name))
}

export function group<Table extends OptionTable>(table: Table): Option<ReadOptions<Table>> {
  return holding(table, (given = {}, name) => readOptions(given as object, table, name))
}

export function holding<T>(table: OptionTable, read: Option<T>): Option<T> {
  return Object.assign(read, { table })
}

export function groupOrOff<Table extends OptionTable>(table: Table): Option<ReadOptions<Table> | undefined> {
  return holding(table, (given, name) => (given ? readOptions(given, table, name) : undefined))
}

/** Required where there is no default. */
export function positive(fallback?: number): Option<number> {
  return whole(1, fallback)
}

export function whole(min: number, fallback?: number): Option<number> {
  return (given = fallback, name) => {
    if (Number.isInteger(given) && (given as number) >= min) return given as number
    throw invalid(`${name} is a whole number from ${min}, not ${shown(given)}`)
  }
}

export function usd(fallback?: string): Option<bigint> {
  return (given = fallback) => usdToBaseUnits(given)
}

export function milliseconds(fallback: number, min: number, max: number): Option<number> {
  return (given = fallback, name) => {
    if (typeof given === 'number' && given >= min && given <= max) return given
    throw invalid(`${name} is ${min} to ${max} milliseconds, not ${shown(given)}`)
  }
}

export function oneOf<const Words extends readonly string[]>(
  words: Words,
  fallback: Words[number],
): Option<Words[number]> {
  return (given = fallback, name) => {
    if (words.includes(given as string)) return given as Words[number]
    throw invalid(`${name} is ${words.join(' or ')}, not ${shown(given)}`)
  }
}

export function flag(fallback: boolean): Option<boolean> {
  return (given = fallback, name) => {
    if (typeof given === 'boolean') return given
    throw invalid(`${name} is true or false, not ${shown(given)}`)
  }
}

export function callable<T>(): Option<T | undefined> {
  return (given, name) => {
    if (given === undefined || typeof given === 'function') return given as T | undefined
    throw invalid(`${name} is a function, not ${shown(given)}`)
  }
}

const SECRET_TOKEN = /^[\x21-\x7e]{16,}$/

/** The message quotes nothing of it. */
export const secretToken: Option<string> = (given, name) => {
  if (typeof given === 'string' && SECRET_TOKEN.test(given)) return given
  throw invalid(`${name} is at least 16 visible ASCII characters without a space`)
}

const HOST_NAME = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/

export const hostNames: Option<ReadonlySet<string>> = (given = [], name) => {
  const names = [given].flat().map(host => (typeof host === 'string' ? host.toLowerCase() : host))
  const wrong = names.find(host => typeof host !== 'string' || !HOST_NAME.test(host))
  if (wrong === undefined) return new Set(names as string[])
  throw invalid(`${name} lists host names without ports, such as 'ops.example.com', not ${shown(wrong)}`)
}
