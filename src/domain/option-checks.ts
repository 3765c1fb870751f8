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

export function refuseOptions(why: string): never {
  throw invalid(why)
}

export function readOptions<Table extends OptionTable>(
  given: object,
  table: Table,
  group = '',
): ReadOptions<Table> {
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
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    refuse(`${group || 'What holds the options'} is an object such as {}, not ${shown(given)}`)
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

/** The same for a definition, whose mistakes have codes of their own. */
export function readDefinition<Table extends OptionTable>(
  given: unknown,
  table: Table,
  refuse: (why: string) => never,
): ReadOptions<Table> {
  try {
    return readOptions(given as object, table)
  } catch (cause) {
    throw cause instanceof SdkError ? refuse(cause.message) : cause
  }
}

/** A copy without the fields that are `undefined`. */
export function present<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields
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

/** A value that passes; `is` says of what kind it is. Required where there is no default. */
export function such<T>(
  passes: (given: unknown) => boolean,
  is: string,
  fallback?: T,
  butIs = (given: unknown) => `, not ${shown(given)}`,
): Option<T> {
  return (given = fallback, name) => {
    if (passes(given)) return given as T
    throw invalid(`${name} is ${is}${butIs(given)}`)
  }
}

/** The same for a secret: the message quotes nothing of it. */
export function secret(passes: (given: unknown) => boolean, is: string): Option<string> {
  return such<string>(passes, is, undefined, () => '')
}

/** A frozen copy of a list, each of whose members passes. */
export function listOf(
  passes: (member: unknown) => boolean,
  is: string,
  fallback?: readonly string[],
): Option<readonly string[]> {
  const list = such(given => Array.isArray(given) && given.every(passes), is, fallback)
  return (given, name) => Object.freeze([...list(given, name)])
}

export function positive(fallback?: number): Option<number> {
  return whole(1, fallback)
}

export function whole(min: number, fallback?: number): Option<number> {
  return between(min, Number.POSITIVE_INFINITY, fallback)
}

export function between(min: number, max: number, fallback?: number): Option<number> {
  const isWithin = (given: unknown) => Number.isInteger(given) && Number(given) >= min && Number(given) <= max
  const most = max === Number.POSITIVE_INFINITY ? '' : ` to ${max}`
  return such(isWithin, `a whole number from ${min}${most}`, fallback)
}

export function usd(fallback?: string): Option<bigint> {
  return (given = fallback) => usdToBaseUnits(given)
}

export function milliseconds(fallback: number, min: number, max: number): Option<number> {
  const isWithin = (given: unknown) => typeof given === 'number' && given >= min && given <= max
  return such(isWithin, `${min} to ${max} milliseconds`, fallback)
}

export function oneOf<const Word>(words: readonly Word[], fallback?: Word): Option<Word> {
  return such(given => words.includes(given as Word), words.map(word => `${word}`).join(' or '), fallback)
}

export function flag(fallback: boolean): Option<boolean> {
  return such(given => typeof given === 'boolean', 'true or false', fallback)
}

const isFunction = (given: unknown) => typeof given === 'function'

export function callable<T>(): Option<T | undefined> {
  return optional(such<T>(isFunction, 'a function'))
}

export function text(fallback?: string): Option<string> {
  return such(given => typeof given === 'string', 'a text', fallback)
}

export function matching(pattern: RegExp, is: string, fallback?: string): Option<string> {
  return such(given => typeof given === 'string' && pattern.test(given), is, fallback)
}

const isToken = (given: unknown) => typeof given === 'string' && /^[\x21-\x7e]{16,}$/.test(given)

export const secretToken: Option<string> = (given, name) =>
  secret(isToken, 'at least 16 visible ASCII characters without a space')(given, name)

const HOST_NAME = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/

export const hostNames: Option<ReadonlySet<string>> = (given = [], name) => {
  const names = [given].flat().map(host => (typeof host === 'string' ? host.toLowerCase() : host))
  const wrong = names.find(host => typeof host !== 'string' || !HOST_NAME.test(host))
  if (wrong === undefined) return new Set(names as string[])
  throw invalid(`${name} lists host names without ports, such as 'ops.example.com', not ${shown(wrong)}`)
}
