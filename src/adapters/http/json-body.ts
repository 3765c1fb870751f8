/** The text of a body as the input that it is: JSON, whatever its content type says. */
import secureJson from 'secure-json-parse'
import { deeperThan } from '../../domain/json-depth.js'
import { mayHoldUnusualNumbers, NumberOverflow, plainNumbers } from '../../domain/json-numbers.js'
import type { Parsed } from '../../ports/charge.js'

/** Deeper than any schema for people; shallow enough that no recursion over a body can exhaust the stack. */
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
