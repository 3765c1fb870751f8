/** Patterns whose time is proportional to the length of the text: no engine here backtracks. */
import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'
import { STEPS_MAX, spend } from './check-steps.js'
import { isPlainSequence } from './plain-sequence.js'

export interface LinearPattern {
  /** The object that Ajv calls. Its text must differ for each pattern. */
  readonly matcher: { test(text: string): boolean; toString(): string }
  /** The longest text. The check of a longer text ends by itself. */
  readonly lengthMax: number
}

/** The fixed cost of one test, in steps. */
const STEPS_A_TEST = 20
/** More different patterns than any process has whose schemas are written by people. */
const PATTERNS_MAX = 1_000

const patterns = new LRUCache<string, LinearPattern>({ max: PATTERNS_MAX })

/**
 * @throws SyntaxError for a malformed pattern
 * @throws Error for a pattern that cannot be tested in linear time, because of look-around or back references
 */
export function linearPattern(pattern: string): LinearPattern {
  const known = patterns.get(pattern)
  if (known) return known
  const native = new RegExp(pattern, 'u')
  const made = isPlainSequence(pattern)
    ? { matcher: native, lengthMax: Number.POSITIVE_INFINITY }
    : inRe2(pattern)
  patterns.set(pattern, made)
  return made
}

function inRe2(pattern: string): LinearPattern {
  const engine = RE2JS.compile(RE2JS.translateRegExp(inRe2Syntax(pattern)))
  // In the worst case each character is compared with each state: 40 to 80 ns for one comparison, as measured.
  const states = engine.programSize()
  return {
    matcher: {
      test(text) {
        spend(text.length * states + STEPS_A_TEST)
        return engine.test(text)
      },
      toString: () => `${pattern} in linear time`,
    },
    lengthMax: Math.floor((STEPS_MAX - STEPS_A_TEST) / states),
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
