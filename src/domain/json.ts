/** JSON from strangers: how deep and how large it may be, which numbers it may hold, and its one canonical text. */

/** Deeper than any schema that people write, and shallow enough that no recursion over what strangers send exhausts the stack. */
export const RECEIVED_DEPTH_MAX = 64

/** A deeper value can be parsed, but cannot be written again: `JSON.stringify` runs out of its stack. */
export const JSON_DEPTH_MAX = 512

/** The value of a JSON text; `undefined` for a text that is none, or is nested deeper than `depthMax`. */
export function jsonIn(text: string, depthMax = JSON_DEPTH_MAX): unknown {
  if (deeperThan(text, depthMax)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether a value nests deeper. It looks no deeper itself. */
export function nestsDeeperThan(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depthMax === 0 || Object.values(value).some(each => nestsDeeperThan(each, depthMax - 1))
}

/** Whether a JSON text nests deeper than `depthMax`. Counts brackets outside strings, before a parser builds anything. */
export function deeperThan(text: string, depthMax: number): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === 0x22) at = endOfString(text, at)
    else if (char === 0x5b || char === 0x7b) {
      if (++depth > depthMax) return true
    } else if (char === 0x5d || char === 0x7d) depth--
  }
  return false
}

/** A payment is nearly all strings: the search of the platform reads one in a sixth of the time of a loop over its characters. */
function endOfString(text: string, opened: number): number {
  for (let end = text.indexOf('"', opened + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = end
    while (text.charCodeAt(escapes - 1) === 0x5c) escapes--
    if ((end - escapes) % 2 === 0) return end
  }
  return text.length
}

/** Bounds what a message may hold, before a library or a facilitator sees it. */
export interface JsonBounds {
  /** Values at all depths: members, elements, and what they are in. */
  readonly values: number
  /** UTF-16 units of all texts and names together. */
  readonly characters: number
}

/**
 * What a message of A2A or MCP may hold beside the input of an endpoint. The MCP library takes 14 s, 1.4 GB and an answer of
 * 122 MB for a list of half a million wrong elements; with these bounds it takes 2 ms.
 */
export const ENVELOPE_BOUNDS: JsonBounds = { values: 512, characters: 32_768 }

/**
 * Whether the value of a JSON text is within the bounds, and nests no deeper than what is received may. Stops where one is exceeded.
 *
 * @param apart what is bounded elsewhere, and not looked into
 */
export function isWithin(value: unknown, bounds: JsonBounds, apart: readonly unknown[] = []): boolean {
  let { values, characters } = bounds
  const takeText = (text: string): boolean => {
    characters -= text.length
    return characters >= 0
  }
  const take = (part: unknown, depth: number): boolean => {
    values--
    if (values < 0) return false
    if (typeof part === 'string') return takeText(part)
    if (typeof part !== 'object' || part === null || apart.includes(part)) return true
    if (depth === 0) return false
    if (Array.isArray(part)) {
      if (part.length > values) return false
      // `every` would need a function, and with it a context for each value: 4.5 kB for a payment.
      for (const each of part) if (!take(each, depth - 1)) return false
      return true
    }
    const members = part as Readonly<Record<string, unknown>>
    // What was parsed inherits no members. Listing them all before the first took three times as long.
    for (const name in members) if (!takeText(name) || !take(members[name], depth - 1)) return false
    return true
  }
  return take(value, RECEIVED_DEPTH_MAX)
}

/**
 * Thrown for a number that a double cannot hold: JSON.parse turns `1e999` into Infinity, which would be written again as `null`,
 * another input. A whole number beyond 2^53 becomes the nearest double, as in JSON.parse: the value that is validated, hashed and
 * charged is the value that the handler receives.
 */
export class NumberOverflow extends RangeError {
  /** @param pointer JSON pointer (RFC 6901) to the number; `''` is the whole value. */
  constructor(readonly pointer: string) {
    super(`The number at '${pointer}' is too large to be one`)
  }
}

/**
 * An exponent, more digits than a double has, or a minus before a zero: parsing changes no other number. The pattern
 * counts digits from the start of a run only: counting from each digit, a text of 1 MB took a second.
 */
const UNUSUAL = /\d[eE]|(?<!\d)\d{309}|-0/

/** Whether `plainNumbers` could find anything in this text's value. Most texts need no walk. */
export function mayHoldUnusualNumbers(text: string): boolean {
  return UNUSUAL.test(text)
}

/**
 * The value with 0 for -0, which RFC 8785 writes alike; changes objects and arrays in place. The caller limits the depth.
 *
 * @throws NumberOverflow
 */
export function plainNumbers(value: unknown): unknown {
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value + 0
    throw new NumberOverflow('')
  }
  if (typeof value === 'object' && value !== null) settleMembers(value as Record<string | number, unknown>)
  return value
}

/** Builds the path to a number only for a number that is wrong. */
function settleMembers(members: Record<string | number, unknown>): void {
  let name: string | number = ''
  try {
    // String indexes of an array took four times as long.
    for (name of Array.isArray(members) ? members.keys() : Object.keys(members)) {
      const member = members[name]
      const plain = plainNumbers(member)
      if (Object.is(member, -0)) members[name] = plain
    }
  } catch (cause) {
    if (!(cause instanceof NumberOverflow)) throw cause
    throw new NumberOverflow(`/${escapePointer(String(name))}${cause.pointer}`)
  }
}

/** Of a member's name, for a JSON pointer (RFC 6901). */
export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/**
 * The canonical text of a JSON value: no white space, keys in order of their UTF-16 code units. Equal values have
 * equal texts, whatever program wrote them. The caller limits the depth.
 *
 * @see RFC 8785
 *
 * @throws RangeError for NaN and the infinities, which JSON text cannot express (RFC 8785, section 3.2.2.3)
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError(`${value} is no JSON number`)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  let members = ''
  for (const name of Object.keys(value).sort()) {
    const field = (value as Readonly<Record<string, unknown>>)[name]
    if (field !== undefined) members += `${members && ','}${JSON.stringify(name)}:${canonicalJson(field)}`
  }
  return `{${members}}`
}
