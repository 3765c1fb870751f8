/** Numbers and texts that satisfy the simple rules of a JSON Schema. */
import type { Schema } from './embedded-schema.js'

/** 1 if the schema allows it, else the first number near a limit that satisfies all limits. */
export function exampleNumber(schema: Schema, whole: boolean): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema
  const above = numbersIn(minimum, exclusiveMinimum)
  const below = numbersIn(maximum, exclusiveMaximum)
  const low = above.length > 0 ? Math.max(...above) : Math.min(0, ...below)
  const high = below.length > 0 ? Math.min(...below) : low + 1
  const [step = 1] = numbersIn(multipleOf)
  const middle = (low + high) / 2
  const candidates = [
    1,
    0,
    low,
    high,
    Math.ceil(low / step) * step,
    (Math.floor(low / step) + 1) * step,
    (Math.ceil(high / step) - 1) * step,
    middle,
    Math.floor(middle / step) * step,
  ]
  const fits = (value: number) =>
    numbersIn(minimum).every(limit => value >= limit) &&
    numbersIn(exclusiveMinimum).every(limit => value > limit) &&
    numbersIn(maximum).every(limit => value <= limit) &&
    numbersIn(exclusiveMaximum).every(limit => value < limit) &&
    numbersIn(multipleOf).every(unit => Number.isInteger(value / unit)) &&
    (!whole || Number.isInteger(value))
  return candidates.find(fits) ?? low
}

/** Names and addresses that standards set aside for examples. */
const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  duration: 'P1D',
  email: 'agent@example.com',
  hostname: 'example.com',
  'idn-email': 'agent@example.com',
  'idn-hostname': 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  iri: 'https://example.com/',
  'json-pointer': '/example',
  regex: '^example$',
  time: '12:00:00Z',
  uri: 'https://example.com/',
  'uri-reference': '/example',
  url: 'https://example.com/',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
}

const FILLER = 'example '
const TEXT_MAX = 2_048
/** A pattern's example is a guess from runs of one character: enough for codes, digits, addresses and words. */
const RUN_CHARACTERS = ['a', 'A', '1', '0']
const RUN_MAX = 64

export function exampleText({ format, pattern, minLength, maxLength }: Schema): string {
  const [shortest = 0] = numbersIn(minLength)
  const [longest = TEXT_MAX] = numbersIn(maxLength)
  const plain = (typeof format === 'string' && FORMATS[format]) || sized(shortest, longest)
  if (typeof pattern !== 'string') return plain
  const matches = new RegExp(pattern, 'u')
  if (matches.test(plain)) return plain
  for (let length = Math.max(1, shortest); length <= Math.min(RUN_MAX, longest); length++) {
    const run = RUN_CHARACTERS.map(character => character.repeat(length)).find(text => matches.test(text))
    if (run !== undefined) return run
  }
  return plain
}

function sized(shortest: number, longest: number): string {
  const length = Math.min(Math.max(shortest, FILLER.length - 1), longest, TEXT_MAX)
  return FILLER.repeat(Math.ceil(length / FILLER.length)).slice(0, length)
}

function numbersIn(...values: readonly unknown[]): number[] {
  return values.filter(value => typeof value === 'number')
}
