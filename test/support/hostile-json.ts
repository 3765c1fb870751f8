/** JSON that libraries choke on. */
import fc from 'fast-check'

export type HostileShape = keyof typeof HOSTILE_JSON

const repeated = (count: number, text: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => text(at)).join(',')

/** Each of about so many bytes. */
export const HOSTILE_JSON = {
  'one long text': bytes => `"${'x'.repeat(bytes)}"`,
  'a wide list of numbers': bytes => `[${repeated(bytes / 2, () => '0')}]`,
  'a wide list of lists': bytes => `[${repeated(bytes / 3, () => '[]')}]`,
  'a wide list of objects': bytes => `[${repeated(bytes / 3, () => '{}')}]`,
  'many keys': bytes => `{${repeated(bytes / 11, at => `"k${at}":0`)}}`,
  'one key repeated': bytes => `{${repeated(bytes / 6, () => '"k":0')}}`,
  'empty names': bytes => `{${repeated(bytes / 5, () => '"":0')}}`,
  'numbers as names': bytes => `{${repeated(bytes / 12, at => `"${(at * 7919) % 4_294_967}":0`)}}`,
  'deep lists': bytes => '['.repeat(bytes / 2) + ']'.repeat(bytes / 2),
  'deep objects': bytes => `${'{"a":'.repeat(bytes / 6)}0${'}'.repeat(bytes / 6)}`,
  'as deep as is read, again and again': bytes =>
    `[${repeated(bytes / 101, () => '['.repeat(50) + ']'.repeat(50))}]`,
  'one huge number': bytes => '9'.repeat(bytes),
  'many huge numbers': bytes => `[${repeated(bytes / 25, () => '1e308000000000000000000')}]`,
  'long fractions': bytes => `[${repeated(bytes / 400, () => `0.${'3'.repeat(397)}`)}]`,
  'odd Unicode': bytes => `"${'\\ud800\\u0000\ufeff\u202e'.repeat(bytes / 18)}"`,
  escapes: bytes => `"${'\\"\\\\'.repeat(bytes / 4)}"`,
  'escapes without an end': bytes => `"1234567890123456${'\\"'.repeat(bytes / 2)}`,
  'names of prototypes': bytes => `{${repeated(bytes / 30, at => `"constructor":{"prototype${at}":0}`)}}`,
  'no end': bytes => `[${'0,'.repeat(bytes / 2)}`,
} as const satisfies Record<string, (bytes: number) => string>

const BYTES_MAX = 60_000
const copies = fc.oneof(fc.integer({ min: 0, max: 70 }), fc.integer({ min: 0, max: 20_000 }))
const name = fc.oneof(
  fc.constantFrom(
    '""',
    '"a"',
    '"toString"',
    '"constructor"',
    '"__proto__"',
    '"0"',
    '"length"',
    '"then"',
    '"\\u0000"',
  ),
  fc.string({ unit: 'binary', maxLength: 8 }).map(text => JSON.stringify(text)),
)

/** JSON text by chance: shapes within shapes, some of them repeated until they are large. Not every text is JSON. */
export const hostileText: fc.Arbitrary<string> = fc.letrec<{ text: string; scalar: string }>(tie => ({
  scalar: fc.oneof(
    fc.constantFrom('0', '-0', 'true', 'null', '""', '"x"', '1e999', '-1e-999', '9'.repeat(400), '{}', '[]'),
    fc.string({ unit: 'binary', maxLength: 20 }).map(text => JSON.stringify(text)),
    fc.constantFrom('"\\ud800"', '"\\u0000"', '"\u202e"', '"\ufeff"', '"\\"', '"', '{', ']', '{"a":', '\\'),
    fc.bigInt().map(String),
  ),
  text: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('scalar'),
    fc.array(tie('text'), { maxLength: 4 }).map(each => `[${each.join(',')}]`),
    fc
      .array(fc.tuple(name, tie('text')), { maxLength: 4 })
      .map(members => `{${members.map(pair).join(',')}}`),
    fc
      .tuple(tie('text'), copies)
      .map(([text, times]) => `[${Array(timesFor(text, times)).fill(text).join(',')}]`),
    fc.tuple(name, tie('scalar'), copies, fc.boolean()).map(([key, value, times, isSame]) => {
      const keyAt = (at: number) => (isSame ? key : `${key.slice(0, -1)}${at}"`)
      return `{${Array.from({ length: timesFor(value, times) }, (_, at) => pair([keyAt(at), value])).join(',')}}`
    }),
    fc.tuple(tie('scalar'), copies).map(([text, depth]) => '['.repeat(depth) + text + ']'.repeat(depth)),
    fc.tuple(tie('scalar'), copies).map(([text, depth]) => '{"":'.repeat(depth) + text + '}'.repeat(depth)),
  ),
})).text

function pair([key, value]: readonly [string, string]): string {
  return `${key}:${value}`
}

function timesFor(text: string, times: number): number {
  return Math.min(times, Math.ceil(BYTES_MAX / (text.length + 8)))
}
