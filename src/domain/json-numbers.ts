/**
 * The numbers of a parsed JSON text. JSON.parse turns `1e999` into Infinity, which JSON text cannot express: written
 * again it is `null`, another input. And JSON.parse distinguishes `-0` from `0`, which RFC 8785 writes alike.
 *
 * A whole number beyond 2^53 becomes the nearest double, as in JSON.parse: the value that is validated, hashed and
 * charged is the value that the handler receives. Send a string if every digit matters.
 */

/** Thrown for a number that a double cannot hold. */
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
 * The value with 0 for -0; changes objects and arrays in place. The caller limits the depth.
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

/**
 * Escapes a member's name for a JSON pointer.
 *
 * @see RFC 6901
 */
export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
