/** Patterns that take time in proportion to the text, whatever the text: none goes back and tries again. */
import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'
import { isPlainSequence } from './plain-sequence.js'
import { STEPS_MAX, spend } from './steps.js'

export interface LinearPattern {
  /** As Ajv calls it: its text must be another one for another pattern. */
  readonly matcher: { test(text: string): boolean; toString(): string }
  /** How long one text may be; beyond it the check ends by itself. */
  readonly lengthMax: number
}

/** What a test costs besides its characters, counted in steps. */
const STEPS_A_TEST = 20
/** More distinct patterns than a process of schemas written by people has. */
const PATTERNS_MAX = 1_000

const patterns = new LRUCache<string, LinearPattern>({ max: PATTERNS_MAX })

/**
 * @throws SyntaxError for what is no pattern
 * @throws Error for one that cannot be tested in linear time: it looks around, or refers back
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
  // At worst every character is held against every state: measured, 40 to 80 ns each.
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

/** `\s` and `.` mean fewer and more characters to RE2 than to JavaScript, and a surrogate pair is two. */
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
