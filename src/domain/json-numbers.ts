/**
 * The numbers of a parsed JSON text. JSON.parse makes Infinity of `1e999`, which no JSON text can say again: written anew it
 * is `null`, another input. And it keeps `-0` apart from `0`, which RFC 8785 writes as one.
 *
 * A whole number beyond 2^53 becomes the nearest double, as JSON.parse has it: what is validated, hashed and charged is what
 * the handler sees. Who needs every digit sends a string.
 */

/** Thrown for a number that a double cannot hold. */
export class NumberOverflow extends RangeError {
  /** @param pointer JSON pointer (RFC 6901) to the number; `''` is the whole value. */
  constructor(readonly pointer: string) {
    super(`The number at '${pointer}' is too large to be one`)
  }
}

/**
 * An exponent, more digits than a double has, or a minus before a zero: nothing else is changed by being parsed. Digits are
 * counted from the first of a run only: counted from each, a text of 1 MB took a second.
 */
const UNUSUAL = /\d[eE]|(?<!\d)\d{309}|-0/

/** Whether `plainNumbers` could find anything in the value of this text. Most texts need not be walked. */
export function mayHoldUnusualNumbers(text: string): boolean {
  return UNUSUAL.test(text)
}

/** The value with 0 for -0, in place where it has members. @throws NumberOverflow. The caller bounds the depth. */
export function plainNumbers(value: unknown): unknown {
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value + 0
    throw new NumberOverflow('')
  }
  if (typeof value === 'object' && value !== null) settleMembers(value as Record<string | number, unknown>)
  return value
}

/** The way to a number is put together once it is found, and not for each that is fine. */
function settleMembers(members: Record<string | number, unknown>): void {
  let name: string | number = ''
  try {
    // The places of an array as texts took four times as long.
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

/** A member's name in a JSON pointer (RFC 6901). */
export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
