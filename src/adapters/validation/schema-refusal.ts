/** Refuses a schema that lets a caller's input block the event loop, before anything is served. */
import { costlyPlace } from '../../domain/schema-check-cost.js'
import { type Place, placesOf, type Schema } from '../../domain/subschemas.js'
import { SlowSchema } from '../../ports/input-validator.js'
import { linearPattern } from './linear-pattern.js'

/** The most checks of one value of the input. A body of 1 MiB has at most half a million values; a check takes nanoseconds. */
const CHECKS_A_VALUE_MAX = 128
/** Formats of ajv-formats whose regular expression takes time that grows with the square of the text's length. */
const SLOW_FORMATS: Readonly<Record<string, string>> = { url: "use the format 'uri'" }

/** @throws SlowSchema @throws SyntaxError for a malformed pattern */
export function refuseSlowText(root: Schema): void {
  for (const place of placesOf(root)) {
    const { format, pattern, patternProperties, maxLength } = place.schema
    if (typeof format === 'string' && Object.hasOwn(SLOW_FORMATS, format)) {
      const why = `takes time that grows with the square of the text; ${SLOW_FORMATS[format]}`
      throw slow(place, 'format', why)
    }
    if (typeof pattern === 'string') refuseSlowPattern(place, 'pattern', pattern, maxLength)
    for (const name of Object.keys(patternProperties ?? {})) {
      refuseSlowPattern(place, 'patternProperties', name, undefined)
    }
  }
}

/** @throws SlowSchema */
export function refuseSlowNesting(root: Schema): void {
  const place = costlyPlace(root, CHECKS_A_VALUE_MAX)
  if (place === undefined) return
  const why = `may check one value of the input more than ${CHECKS_A_VALUE_MAX} times, as branches and references lead to it again and again; let one branch alone apply, told apart by a required property that stands first and has a const`
  throw slow(place, keywordOf(place.schema), why)
}

function refuseSlowPattern(place: Place, keyword: string, pattern: string, maxLength: unknown): void {
  let lengthMax: number
  try {
    ;({ lengthMax } = linearPattern(pattern))
  } catch (cause) {
    if (cause instanceof SyntaxError) throw cause
    const why = `${pattern} cannot be tested in linear time (${(cause as Error).message}); write it without look-around, back references and repetitions above 1000`
    throw slow(place, keyword, why)
  }
  if (typeof maxLength === 'number' && maxLength > lengthMax) {
    throw slow(place, keyword, `${pattern} is tested on at most ${lengthMax} characters; lower the maxLength`)
  }
}

/** The keyword to name: a reference, because it leads to more checks; else the keyword with the most entries. */
function keywordOf(schema: Schema): string {
  const reference = ['$ref', '$dynamicRef'].find(keyword => keyword in schema)
  if (reference !== undefined) return reference
  const sizeOf = (value: unknown) =>
    typeof value === 'object' && value !== null ? Object.keys(value).length : 0
  const [largest] = Object.entries(schema).sort(([, a], [, b]) => sizeOf(b) - sizeOf(a))
  return largest?.[0] ?? ''
}

function slow({ pointer }: Place, keyword: string, why: string): SlowSchema {
  return new SlowSchema(keyword, pointer, why)
}
