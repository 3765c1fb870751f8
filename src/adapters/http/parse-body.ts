/** Bytes and texts as an input: JSON by this server's rules, text, or bytes. */
import secureJson from 'secure-json-parse'
import { type BodyType, textIn } from '../../domain/body-type.js'
import {
  deeperThan,
  mayHoldUnusualNumbers,
  NumberOverflow,
  plainNumbers,
  RECEIVED_DEPTH_MAX,
} from '../../domain/json.js'
import type { Parsed } from '../../domain/x402.js'

/** Parses a body as the input, whatever its content type is: JSON, text or bytes. */
export function parseBody(bytes: Buffer, type: BodyType = 'json'): Parsed<unknown> {
  if (bytes.length === 0) return { kind: 'none' }
  if (type === 'json') return parseText(bytes.toString('utf8'))
  if (type === 'bytes') return { kind: 'read', value: new Uint8Array(bytes) }
  const text = textIn(bytes, undefined)
  return text === undefined ? malformed('The body is not UTF-8 text.') : { kind: 'read', value: text }
}

export function parseText(text: string): Parsed<unknown> {
  if (deeperThan(text, RECEIVED_DEPTH_MAX)) return malformed(TOO_DEEP)
  try {
    const value: unknown = secureJson.parse(text)
    return { kind: 'read', value: mayHoldUnusualNumbers(text) ? plainNumbers(value) : value }
  } catch (cause) {
    if (cause instanceof NumberOverflow) return malformed(`${cause.message}.`)
    const forbidden = (cause as Error).message.includes('forbidden prototype')
    if (forbidden) return malformed('The body has a key that no input may have (__proto__).')
    return malformed('The body is not valid JSON.')
  }
}

export const TOO_DEEP = `The body is nested deeper than ${RECEIVED_DEPTH_MAX} levels.`

export function malformed(why: string): Parsed<never> {
  return { kind: 'malformed', why }
}
