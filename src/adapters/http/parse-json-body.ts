/** Parses a body's text as the input: JSON, whatever its content type is. */
import secureJson from 'secure-json-parse'
import { deeperThan } from '../../domain/json-depth.js'
import { mayHoldUnusualNumbers, NumberOverflow, plainNumbers } from '../../domain/json-numbers.js'
import type { Parsed } from '../../ports/charge.js'

/** Deeper than any schema that people write, and shallow enough that no recursion over a body exhausts the stack. */
const DEPTH_MAX = 64

export function parseBody(bytes: Buffer): Parsed<unknown> {
  return bytes.length === 0 ? { kind: 'none' } : parseText(bytes.toString('utf8'))
}

export function parseText(text: string): Parsed<unknown> {
  if (deeperThan(text, DEPTH_MAX)) return malformed(TOO_DEEP)
  try {
    const value: unknown = secureJson.parse(text)
    return { kind: 'read', value: mayHoldUnusualNumbers(text) ? plainNumbers(value) : value }
  } catch (cause) {
    if (cause instanceof NumberOverflow) return malformed(`${cause.message}.`)
    const forbidden = (cause as Error).message.includes('forbidden prototype')
    return malformed(
      forbidden ? 'The body has a key that no input may have (__proto__).' : 'The body is not valid JSON.',
    )
  }
}

export const TOO_DEEP = `The body is nested deeper than ${DEPTH_MAX} levels.`

export function malformed(why: string): Parsed<never> {
  return { kind: 'malformed', why }
}
