/**
 * Finds the patterns that V8 tests in one pass over the text. V8 backtracks where a part may end at several places; where a
 * pattern leaves no such choice, no text makes it slow. Most patterns of schemas are of this kind, and V8 tests a body of 1 MiB
 * in 1 to 5 ms, the engine of the other patterns in 33 to 63.
 */

/** A part: a character, a class, or an escape of either; and its quantifier. */
const PART =
  /(\\(?:[dDwWsSfnrtv0^$\\.*+?()[\]{}|/-]|x[\da-f]{2}|u[\da-f]{4}|u\{[\da-f]+\}|[pP]\{[\w=]+\})|\[(?:\\.|[^\]\\])*\]|[^\\^$*+?()[\]{}|])(?:([*+?])|\{(\d+)(,?)(\d*)\})?\??/iuy

interface Part {
  readonly characters: string
  readonly min: number
  readonly max: number
}

/**
 * Whether the pattern is `^`, a sequence of parts, and perhaps `$`, where a part of variable length shares no character with
 * a part that may follow it. Then the text alone decides where each part ends.
 */
export function isPlainSequence(pattern: string): boolean {
  const parts = partsOf(pattern)
  if (parts === undefined) return false
  return parts.every((part, at) => {
    if (part.min === part.max) return true
    const rest = parts.slice(at + 1)
    const end = rest.findIndex(({ min }) => min > 0)
    const following = end === -1 ? rest : rest.slice(0, end + 1)
    return following.every(next => !overlap(part.characters, next.characters))
  })
}

function partsOf(pattern: string): readonly Part[] | undefined {
  if (!pattern.startsWith('^')) return undefined
  const end = pattern.endsWith('$') && !pattern.endsWith('\\$') ? pattern.length - 1 : pattern.length
  const parts: Part[] = []
  for (PART.lastIndex = 1; PART.lastIndex < end; ) {
    const [, characters, sign, least, comma, most] = PART.exec(pattern) ?? []
    if (characters === undefined) return undefined
    const min = sign === undefined ? Number(least ?? 1) : sign === '+' ? 1 : 0
    const open = sign === '*' || sign === '+' || (comma === ',' && most === '')
    parts.push({ characters, min, max: open ? Number.POSITIVE_INFINITY : maxOf(sign, min, most) })
  }
  return parts
}

function maxOf(sign: string | undefined, min: number, most: string | undefined): number {
  return sign === '?' ? 1 : most ? Number(most) : min
}

/** The characters of a class, as V8 itself matches them: a parser of our own could differ from V8. */
function overlap(one: string, other: string): boolean {
  return new RegExp(`(?=${one})${other}`, 'u').test(everyCharacter())
}

const CHUNK = 0x4000
let kept: WeakRef<{ readonly text: string }> | undefined

/** Each character of Unicode. Low surrogates come before high ones, because a high and a low one make another character. */
function everyCharacter(): string {
  const known = kept?.deref()
  if (known) return known.text
  const ranges = [
    [0xdc00, 0xdfff],
    [0xd800, 0xdbff],
    [0, 0xd7ff],
    [0xe000, 0x10ffff],
  ] as const
  let text = ''
  for (const [first, last] of ranges) {
    for (let start = first; start <= last; start += CHUNK) {
      const length = Math.min(CHUNK, last - start + 1)
      text += String.fromCodePoint(...Array.from({ length }, (_, at) => start + at))
    }
  }
  kept = new WeakRef({ text })
  return text
}
