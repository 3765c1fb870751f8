/**
 * Patterns whose time is proportional to the length of the text: no engine here backtracks. V8 backtracks where a part of a pattern
 * may end at several places. Most patterns of schemas leave no such choice, and V8 tests a body of 1 MiB with them in 1 to 5 ms;
 * all others go to RE2, which takes 33 to 63.
 */
import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'
import { STEPS_A_CHARACTER, STEPS_MAX, spend } from './step-budget.js'

interface LinearPattern {
  /** The object that Ajv calls. Its text must differ for each pattern. */
  readonly matcher: { test(text: string): boolean; toString(): string }
  /** The longest text that one check has steps for. */
  readonly lengthMax: number
}

/** The fixed cost of one test by RE2, in steps. */
const STEPS_A_TEST = 20
/** More different patterns than any process has whose schemas are written by people. */
const PATTERNS_MAX = 1_000

const patterns = new LRUCache<string, LinearPattern>({ max: PATTERNS_MAX, memoMethod: patternOf })

/**
 * @throws SyntaxError for a malformed pattern
 * @throws Error for a pattern that cannot be tested in linear time, because of look-around or back references
 */
export function linearPattern(pattern: string): LinearPattern {
  return patterns.memo(pattern)
}

function patternOf(pattern: string): LinearPattern {
  const native = new RegExp(pattern, 'u')
  return isPlainSequence(pattern)
    ? { matcher: counted(native, STEPS_A_CHARACTER, 1, pattern), lengthMax: Number.POSITIVE_INFINITY }
    : inRe2(pattern)
}

/** Why a text cannot be tested in linear time, or not as long a text as the schema allows. @throws SyntaxError */
export function slownessOf(pattern: string, lengthAllowed?: unknown): string | undefined {
  try {
    const { lengthMax } = linearPattern(pattern)
    if (typeof lengthAllowed !== 'number' || lengthAllowed <= lengthMax) return undefined
    return `${pattern} is tested on at most ${lengthMax} characters; lower the maxLength`
  } catch (cause) {
    if (cause instanceof SyntaxError) throw cause
    return `${pattern} cannot be tested in linear time (${(cause as Error).message}); write it without look-around, back references and repetitions above 1000`
  }
}

function inRe2(pattern: string): LinearPattern {
  const engine = RE2JS.compile(RE2JS.translateRegExp(inRe2Syntax(pattern)))
  // In the worst case each character is compared with each state: 40 to 80 ns for one comparison, as measured.
  const states = engine.programSize()
  return {
    matcher: counted(engine, states, STEPS_A_TEST, `${pattern} in linear time`),
    lengthMax: Math.floor((STEPS_MAX - STEPS_A_TEST) / states),
  }
}

type Engine = Pick<RegExp, 'test'>

function counted(engine: Engine, stepsACharacter: number, stepsATest: number, name: string) {
  return {
    test(text: string) {
      spend(text.length * stepsACharacter + stepsATest)
      return engine.test(text)
    },
    toString: () => name,
  }
}

const SPACE =
  '\\t-\\r \\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}\\x{FEFF}'
const NO_SPACE =
  '\\x00-\\x08\\x0E-\\x1F!-\\x{9F}\\x{A1}-\\x{167F}\\x{1681}-\\x{1FFF}\\x{200B}-\\x{2027}\\x{202A}-\\x{202E}\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}\\x{3001}-\\x{FEFE}\\x{FF00}-\\x{10FFFF}'
const TOKEN = /\\u(d[89ab][\da-f]{2})\\u(d[c-f][\da-f]{2})|\\.|[[\].]/gisu

/** Rewrites the parts that RE2 reads differently: `\s` is fewer characters, `.` is more, and a surrogate pair is two. */
function inRe2Syntax(pattern: string): string {
  let inClass = false
  return pattern.replace(TOKEN, (token, high?: string, low?: string) => {
    if (high !== undefined) return `\\x{${pairOf(high, low!).toString(16)}}`
    if (token === '\\s') return inClass ? SPACE : `[${SPACE}]`
    if (token === '\\S') return inClass ? NO_SPACE : `[${NO_SPACE}]`
    if (token === '.') return inClass ? '.' : '[^\\n\\r\\x{2028}\\x{2029}]'
    if (token === '[') inClass = true
    if (token === ']') inClass = false
    return token
  })
}

function pairOf(high: string, low: string): number {
  return 0x10000 + ((Number.parseInt(high, 16) - 0xd800) << 10) + Number.parseInt(low, 16) - 0xdc00
}

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
    const max = sign === '?' ? 1 : most ? Number(most) : min
    parts.push({ characters, min, max: open ? Number.POSITIVE_INFINITY : max })
  }
  return parts
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
