/**
 * The body of a request that other middleware has read, as Express's parsers, koa-bodyparser and similar leave it: as
 * `rawBody`, or as `body` in bytes, in text or parsed. It follows the same rules as a body that this server reads.
 */
import type { IncomingMessage } from 'node:http'
import type { BodyType } from '../../domain/body-type.js'
import { NumberOverflow } from '../../domain/json.js'
import type { Parsed } from '../../domain/x402.js'
import { malformed, parseBody, parseText, TOO_DEEP } from './read-request.js'
import { type BodyReading, HttpError, tooLarge } from './route.js'

/** Where parsers leave the body that they read: Express's request, Koa's `ctx.request`. */
export interface BodyHolder {
  readonly body?: unknown
  readonly rawBody?: unknown
}

/** A form's values are text without types, so they are not the JSON input that the endpoint asks for. */
const FORM = /^\s*(?:application\/x-www-form-urlencoded|multipart\/form-data)\b/i

/** @throws HttpError `body_already_read` where the parser left nothing of it, `body_too_large` */
export function leftBody(
  req: IncomingMessage,
  holder: BodyHolder | undefined,
  { bytesMax, type = 'json' }: BodyReading,
): Parsed<unknown> {
  const holders = [holder, req as BodyHolder]
  const raw = holders.map(each => each?.rawBody).find(isRaw)
  if (Number(req.headers['content-length']) > bytesMax) throw tooLarge(bytesMax)
  if (typeof raw === 'string') return parseBody(bounded(Buffer.from(raw), bytesMax), type)
  const body = raw ?? holders.map(each => each?.body).find(each => each !== undefined)
  if (body === undefined) throw nothingLeft('left nothing of it')
  if (isBytes(body))
    return parseBody(bounded(Buffer.from(body.buffer, body.byteOffset, body.byteLength), bytesMax), type)
  if (type !== 'json') return leftOther(type, body, bytesMax)
  if (typeof body === 'string') return parseLeftText(req, body, bytesMax)
  if (FORM.test(req.headers['content-type'] ?? '')) {
    return malformed('The body was read as a form: send JSON, and Content-Type: application/json.')
  }
  // Parsers leave `{}` for an empty body too. A length means that the body was not empty.
  if (req.headers['content-length'] === undefined && isEmpty(body)) return { kind: 'none' }
  return reparsed(body, bytesMax)
}

/**
 * What a parser left of a body of any type, where it stands for the whole of it: the app's own route reads it, and here it only says
 * which request this is.
 *
 * @throws HttpError as `leftBody`, and for a form of several parts: its files are not in what is left.
 */
export function leftForm(
  req: IncomingMessage,
  holder: BodyHolder | undefined,
  how: BodyReading,
): Parsed<unknown> {
  const type = req.headers['content-type'] ?? ''
  const left = [holder, req as BodyHolder].flatMap(each => [each?.rawBody, each?.body])
  const raw = left.find(isRaw)
  if (raw !== undefined) return parseBody(bounded(Buffer.from(raw as Uint8Array), how.bytesMax), 'bytes')
  if (/^\s*multipart\//i.test(type)) throw nothingLeft('left a form whose files are elsewhere')
  const body = left.find(each => each !== undefined)
  if (body === undefined) throw nothingLeft('left nothing of it')
  return isEmpty(body) ? { kind: 'none' } : reparsed(body, how.bytesMax)
}

/** Text as a parser left it. Bytes cannot be had back from a text, nor a text from a parsed value. */
function leftOther(type: BodyType, body: unknown, bytesMax: number): Parsed<unknown> {
  if (isEmpty(body)) return { kind: 'none' }
  if (type === 'text' && typeof body === 'string')
    return parseBody(bounded(Buffer.from(body), bytesMax), type)
  throw nothingLeft(`left no ${type} of it`)
}

/**
 * The text as it arrived, or the value of a JSON string. That value is shorter than the received text, at least by
 * its quotes.
 */
function parseLeftText(req: IncomingMessage, text: string, bytesMax: number): Parsed<unknown> {
  const length = bounded(Buffer.from(text), bytesMax).length
  const came = req.headers['content-length']
  if (came !== undefined && Number(came) !== length) return parseText(JSON.stringify(text))
  return length === 0 ? { kind: 'none' } : parseText(text)
}

/**
 * Writes and parses the value again. So this server's rules apply whatever a parser allowed, and no value is shared
 * with the parser.
 */
function reparsed(body: unknown, bytesMax: number): Parsed<unknown> {
  let text: string | undefined
  try {
    text = JSON.stringify(body, finite)
  } catch (cause) {
    if (cause instanceof NumberOverflow)
      return malformed('The body has a number that is too large to be one.')
    if (cause instanceof RangeError) return malformed(TOO_DEEP)
  }
  if (text === undefined) throw nothingLeft('left something that is no JSON')
  bounded(Buffer.from(text), bytesMax)
  return parseText(text)
}

function finite(name: string, value: unknown): unknown {
  if (typeof value !== 'number' || Number.isFinite(value)) return value
  throw new NumberOverflow(name)
}

function bounded(bytes: Buffer, bytesMax: number): Buffer {
  if (bytes.length <= bytesMax) return bytes
  throw tooLarge(bytesMax)
}

function nothingLeft(what: string): HttpError {
  return new HttpError(
    500,
    'body_already_read',
    `Something in front of this app read the body and ${what}. Its seller mounts the app before the parser, or has the parser leave req.body or ctx.request.body. You were not charged.`,
  )
}

function isRaw(value: unknown): value is string | Uint8Array {
  return typeof value === 'string' || isBytes(value)
}

function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}
