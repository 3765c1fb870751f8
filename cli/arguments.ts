/** Turns arguments that people type into values that the SDK takes. */
import { readFileSync } from 'node:fs'
import { CommanderError, InvalidArgumentError } from 'commander'
import { METHODS } from '../src/domain/index.js'
import type { FlagsOf } from './define-command.js'

const STANDARD_INPUT = 0

/**
 * JSON as it stands, of a file (`@file`), or of standard input (`-`). It stays the text that was given: parsed and written anew, a
 * number beyond 2^53 would be another one.
 */
export function jsonArgument(given: string): string {
  const text = given === '-' ? read(STANDARD_INPUT) : given.startsWith('@') ? read(given.slice(1)) : given
  try {
    JSON.parse(text)
    return text
  } catch {
    throw new InvalidArgumentError(text === given ? 'It is not JSON.' : 'What stands there is not JSON.')
  }
}

/** The body and the headers as the client sends them unchanged: bytes, whose type is JSON unless a header names another. */
export function sentAs({ body, header = [] }: RequestFlags) {
  const headers = header.map(([name, value]): [string, string] => [name, value])
  if (body === undefined) return { body, headers }
  const type = header.find(([name]) => name.toLowerCase() === 'content-type')?.[1]
  if (type === undefined) headers.push(['content-type', 'application/json'])
  // A JSON string under another type is the text itself.
  const value: unknown = type === undefined || /[/+]json\b/i.test(type) ? undefined : JSON.parse(body)
  return { body: Buffer.from(typeof value === 'string' ? value : body), headers }
}

function read(file: string | number): string {
  try {
    // Bytes that are no UTF-8 would be sent as others.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(file))
  } catch (error) {
    throw new InvalidArgumentError(`It cannot be read (${(error as NodeJS.ErrnoException).code}).`)
  }
}

type Pair = readonly [name: string, value: string]
type Pairs = readonly Pair[]

function headerArgument(text: string, before: Pairs = []): Pairs {
  const colon = text.indexOf(':')
  if (colon < 1) throw new InvalidArgumentError("It is 'Name: value'.")
  return [...before, [text.slice(0, colon).trim(), text.slice(colon + 1).trim()]]
}

function queryArgument(text: string, before: Pairs = []): Pairs {
  const equals = text.indexOf('=')
  if (equals < 1) throw new InvalidArgumentError('It is name=value.')
  return [...before, [text.slice(0, equals), text.slice(equals + 1)]]
}

export function withQuery(url: string, query: Pairs = []): string {
  if (query.length === 0 || !URL.canParse(url)) return url
  const target = new URL(url)
  for (const [name, value] of query) target.searchParams.append(name, value)
  return target.href
}

/**
 * A flag that must be there. Commander checks for one that is declared as required before it looks at unknown flags, so that a
 * misspelt flag was reported as a missing one.
 */
export function required<T>(value: T | undefined, flag: string): T {
  if (value !== undefined) return value
  throw new CommanderError(2, 'svc.missingFlag', `${flag} is missing`)
}

type RequestFlags = FlagsOf<ReturnType<typeof requestFlags>>

export const requestFlags = (body: string) =>
  [
    ['--body <json>', `${body}: JSON, @file, or - for standard input`, jsonArgument],
    ['--data <name=value>', 'adds to the query, for a GET; may be repeated', queryArgument],
    ['--header <header>', "adds a header, such as 'X-Team: blue'; may be repeated", headerArgument],
  ] as const

export const WALLET_OPTION = [
  '--wallet <file>',
  'the file with the 25 words, which only you can use (mode 0600; default: the words in SVC_MNEMONIC)',
] as const

/** Reads an argument; where `read` answers nothing, Commander says what it has to be. */
const argument =
  <T>(says: string, read: (text: string) => T | false | undefined) =>
  (text: string): T => {
    const value = read(text)
    if (value !== undefined && value !== false) return value
    throw new InvalidArgumentError(says)
  }

export const wholeArgument = (least: number, most: number, says = `It is ${least} to ${most}.`) =>
  argument(says, text => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : -1
    return value >= least && value <= most ? value : undefined
  })
/** An empty one, as of a variable that is not set, would be every interface. */
export const hostArgument = argument('It is an address of this machine.', text => text !== '' && text)
export const portArgument = wholeArgument(0, 65_535, 'A port is 0 to 65535.')
export const urlArgument = argument(
  'It is an http(s) URL.',
  text => /^https?:\/\//i.test(text) && URL.canParse(text) && text,
)
export const txIdArgument = argument('It is 52 of A-Z and 2-7.', text => /^[A-Z2-7]{52}$/.test(text) && text)
export const roundArgument = argument('It is the number of a round.', text =>
  /^\d{1,19}$/.test(text) ? BigInt(text) : undefined,
)
export const secondsArgument = argument('It is a number of seconds, at most 86400.', text => {
  const ms = /^\d{1,5}(\.\d{1,3})?$/.test(text) ? Math.round(Number(text) * 1_000) : 0
  return ms > 0 && ms <= 86_400_000 ? ms : undefined
})
const methodArgument = argument(`It is one of ${METHODS.join(', ')}.`, text =>
  METHODS.find(method => method === text.toUpperCase()),
)

export const METHOD_OPTION = [
  '--method <method>',
  'GET, POST, PUT, PATCH or DELETE (default: POST; GET where only that is there)',
  methodArgument,
] as const

/** A day or a moment, in UTC unless the text names another zone; in milliseconds since the epoch. */
export const momentArgument = argument(
  'It is a day or a moment, such as 2026-01-31 or 2026-01-31T12:00Z.',
  text => {
    const zoned = /T\d{2}:\d{2}(:\d{2}(\.\d+)?)?$/.test(text) ? `${text}Z` : text
    const [day = ''] = /^\d{4}-\d{2}-\d{2}/.exec(text) ?? []
    const ms = Date.parse(day && zoned)
    // The 30th of February would be the 2nd of March.
    return ms >= 0 && new Date(day).toISOString().startsWith(day) ? ms : undefined
  },
)
