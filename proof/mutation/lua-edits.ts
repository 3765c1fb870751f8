/** All the texts that one small edit makes of a Lua script. Each is a fault that somebody could write. */

export interface LuaMutant {
  /** The part of the scripts that is edited. */
  readonly part: string
  readonly line: number
  readonly was: string
  readonly is: string
  /** The part, edited. */
  readonly text: string
}

/** A line without its comment, and the edits of it. */
type Rule = (line: string) => Iterable<string>

/** What the drawings call their events, and what the moves answer. */
const EVENTS = [
  ...['opened', 'recorded', 'served', 'released', 'forfeited', 'renewed', 'lapsed', 'reopened', 'orphaned'],
  ...['completed', 'found', 'dead', 'evicted'],
]
const WORDS: readonly (readonly string[])[] = [
  EVENTS,
  ['reused', 'replayable', 'orphaned', 'inProgress', 'spent', 'inUse', 'opened', 'moved', 'completed'],
  ['superseded', 'closed', 'recorded'],
  ['state', 'token', 'leaseEndsMs', 'bodyHash', 'answer', 'txId', 'firstValid', 'lastValid', 'recordedBy'],
  ['complete', 'release', 'forfeit'],
  ['unused', 'reserved', 'lapsesMs', 'expiresAtMs', 'endpoint'],
  ['taken', 'usedUp', 'short', 'none'],
  ['content', 'owner', 'payment', 'token', 'isCompleted'],
  ['kept', 'full', 'ended', 'unknown'],
  ['first', 'later'],
]

const OPERATORS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/ == /g, [' ~= ']],
  [/ ~= /g, [' == ']],
  [/ < /g, [' <= ', ' >= ']],
  [/ > /g, [' >= ', ' <= ']],
  [/ >= /g, [' > ', ' < ']],
  [/ <= /g, [' < ', ' > ']],
  [/ and /g, [' or ']],
  [/ or /g, [' and ']],
  [/\bnot /g, ['']],
  [/ \+ /g, [' - ']],
  [/ - /g, [' + ']],
  [/\btrue\b/g, ['false']],
  [/\bfalse\b/g, ['true']],
  [/\b0\b/g, ['1']],
  [/\b1\b/g, ['0', '2']],
  [/math\.max/g, ['math.min']],
  [/math\.min/g, ['math.max']],
  [/\bkey\.c\b/g, ['key.p']],
  [/\bkey\.p\b/g, ['key.c', 'key.r']],
  [/\bkey\.r\b/g, ['key.p']],
  [/\bclaim\b(?! =)/g, ['payment']],
  [/\bpayment\b(?! =)/g, ['claim', 'recorded']],
  [/\brecorded\b(?!')/g, ['payment']],
  [/\bwindowMs\b/g, ['leaseMs', 'lifeMs']],
  [/\bretentionMs\b/g, ['leaseMs', 'lifeMs']],
  [/\bleaseMs\b/g, ['retentionMs']],
  [/\blifeMs\b/g, ['windowMs']],
  [/\bclaimTtlMs\b/g, ['paymentTtlMs']],
  [/\bpaymentTtlMs\b/g, ['claimTtlMs']],
  [/\bmainnet\b/g, ['testnet']],
  [/\btestnet\b/g, ['mainnet']],
  [/'HSETNX'/g, ["'HSET'"]],
]

function* operators(line: string): Iterable<string> {
  for (const [pattern, others] of OPERATORS) {
    for (const { index, 0: found } of line.matchAll(pattern)) {
      for (const other of others) yield line.slice(0, index) + other + line.slice(index + found.length)
    }
  }
}

/** Another word of the same kind for each word in quotes; all others for an event. */
function* words(line: string): Iterable<string> {
  for (const { index, 1: word } of line.matchAll(/'(\w+)'/g)) {
    for (const kind of WORDS) {
      const at = kind.indexOf(word!)
      if (at < 0) continue
      const others = kind === EVENTS ? kind.filter(other => other !== word) : [kind[(at + 1) % kind.length]!]
      for (const other of others)
        yield `${line.slice(0, index)}'${other}'${line.slice(index + word!.length + 2)}`
    }
  }
}

/** A field that is no longer written or dropped, an event that is no longer tried. */
function* listed(line: string): Iterable<string> {
  for (const { index, 0: found } of line.matchAll(/, '\w+'(?=[,)])/g)) {
    yield line.slice(0, index) + line.slice(index + found.length)
  }
  for (const { index, 0: found } of line.matchAll(/'\w+',(?=')|,'\w+'(?=\})/g)) {
    yield line.slice(0, index) + line.slice(index + found.length)
  }
}

function* conditions(line: string): Iterable<string> {
  const guard = /\b(if) (.*?) then\b/.exec(line)
  if (!guard) return
  for (const forced of ['true', 'false']) yield line.replace(guard[0], `if ${forced} then`)
}

/** A statement that is left out: one that opens and ends all its blocks on its own line, and declares nothing. */
function* dropped(line: string): Iterable<string> {
  const code = line.trim()
  const opened = code.match(/\b(then|do|function)\b/g)?.length ?? 0
  const ended = code.match(/\bend\b/g)?.length ?? 0
  if (code !== '' && opened === ended && !/^(local|else|elseif|end)\b/.test(code)) yield ''
}

const RULES: readonly Rule[] = [dropped, conditions, operators, words, listed]

/** @param kept Lines that are not edited. */
export function mutantsOf(part: string, text: string, kept: readonly string[]): LuaMutant[] {
  const lines = text.split('\n')
  return lines.flatMap((was, at) => {
    if (was.trim().startsWith('--') || kept.includes(was)) return []
    const edited = new Set(RULES.flatMap(rule => [...rule(was)]))
    edited.delete(was)
    return [...edited].map(is => ({
      part,
      line: at + 1,
      was: was.trim(),
      is: is.trim(),
      text: [...lines.slice(0, at), is, ...lines.slice(at + 1)].join('\n'),
    }))
  })
}
