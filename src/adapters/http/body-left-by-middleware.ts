/**
 * The body of a request that other middleware has read, as Express's parsers, koa-bodyparser and similar leave it: as
 * `rawBody`, or as `body` in bytes, in text or parsed. It follows the same rules as a body that this server reads.
 */
import type { IncomingMessage } from 'node:http'
import type { BodyType } from '../../domain/body-type.js'
import { NumberOverflow } from '../../domain/json.js'
import type { Parsed } from '../../domain/x402.js'
import { malformed, parseBody, parseText, TOO_DEEP } from './parse-body.js'
import { HttpError, tooLarge } from './reply.js'
import type { BodyReading } from './route.js'

/** Where parsers leave the body that they read: Express's request, Koa's `ctx.request`. */
export interface BodyHolder {
  readonly body?: unknown
  readonly rawBody?: unknown
}

/** A form's values are text without types, so they are not the JSON input that the endpoint asks for. */
const FORM = /^\s*(?:application\/x-www-form-urlencoded|multipart\/form-data)\b/i

/**
 * @param isOfApp whether the app's own route reads the body: it may be of any type, and what is left only says which request this is
 * @throws HttpError `body_already_read` where the parser left nothing of it, or left files elsewhere; `body_too_large`
 */
export function leftBody(
  req: IncomingMessage,
  holder: BodyHolder | undefined,
  { bytesMax, type = 'json' }: BodyReading,
  isOfApp = false,
): Parsed<unknown> {
  const contentType = req.headers['content-type'] ?? ''
  if (Number(req.headers['content-length']) > bytesMax) throw tooLarge(bytesMax)
  const holders = [holder, req as BodyHolder]
  const isForm = isOfApp && type === 'bytes'
  const left = holders.map(each => each?.body).find(each => each !== undefined)
  const raw =
    holders.map(each => each?.rawBody).find(isRaw) ??
    (isBytes(left) || (isForm && isRaw(left)) ? left : undefined)
  if (raw !== undefined) return parseBody(bounded(Buffer.from(raw as Uint8Array), bytesMax), type)
  if (isForm && /^\s*multipart\//i.test(contentType))
    throw nothingLeft('left a form whose files are elsewhere')
  if (left === undefined) throw nothingLeft('left nothing of it')
  if (isForm) return isEmpty(left) ? { kind: 'none' } : reparsed(left, bytesMax)
  if (type !== 'json') return leftOther(type, left, bytesMax)
  if (typeof left === 'string') return parseLeftText(req, left, bytesMax)
  if (FORM.test(contentType))
    return malformed('The body was read as a form: send JSON, and Content-Type: application/json.')
  // Parsers leave `{}` for an empty body too. A length means that the body was not empty.
  if (req.headers['content-length'] === undefined && isEmpty(left)) return { kind: 'none' }
  return reparsed(left, bytesMax)
}

/** Text as a parser left it. Bytes cannot be had back from a text, nor a text from a parsed value. */
function leftOther(type: BodyType, body: unknown, bytesMax: number): Parsed<unknown> {
  if (isEmpty(body)) return { kind: 'none' }
  if (type === 'text' && typeof body === 'string')
    return parseBody(bounded(Buffer.from(body), bytesMax), type)
  throw nothingLeft(`left no ${type} of it`)
}

/** The value of a JSON string is shorter than the received text, at least by its quotes. */
function parseLeftText(req: IncomingMessage, text: string, bytesMax: number): Parsed<unknown> {
  const length = bounded(Buffer.from(text), bytesMax).length
  const came = req.headers['content-length']
  if (came !== undefined && Number(came) !== length) return parseText(JSON.stringify(text))
  return length === 0 ? { kind: 'none' } : parseText(text)
}

/** Written and parsed again, so that this server's rules apply, and no value is shared with the parser. */
function reparsed(body: unknown, bytesMax: number): Parsed<unknown> {
  let text: string | undefined
  try {
    text = JSON.stringify(body)
    // A number that is too large is written so.
    if (text?.includes('null')) JSON.stringify(body, finite)
  } catch (cause) {
    if (cause instanceof NumberOverflow)
      return malformed('The body has a number that is too large to be one.')
    if (cause instanceof RangeError) return malformed(TOO_DEEP)
  }
  if (text === undefined) throw nothingLeft('left something that is no JSON')
  if (Buffer.byteLength(text) > bytesMax) throw tooLarge(bytesMax)
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
  const message = `Something in front of this app read the body and ${what}. Its seller mounts the app before the parser, or has the parser leave req.body or ctx.request.body. You were not charged.`
  return new HttpError(500, 'body_already_read', message)
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
