/** A reply is data, which a host writes. What breaks before a request is a call is an `HttpError`. */
import { answerCode } from '../../domain/answer-codes.js'
import type { AnswerStream } from '../../domain/handler.js'
import type { Logger } from '../../ports/logger.js'

/** A body that is sent as it comes. */
export interface StreamedBody extends Partial<Pick<AnswerStream, 'cut' | 'unsent'>> {
  readonly chunks: AsyncIterable<Uint8Array | string>
}

/** An HTTP answer: complete before its first byte is sent, unless its body is a stream. */
export interface Reply {
  readonly status: number
  /** Names and values in turn, as `writeHead` takes them: no header is looked up, merged or set twice. */
  readonly headers: readonly string[]
  /** A stream is sent as its chunks arrive. If it breaks, or is cut, the response has no clean end. */
  readonly body?: string | Uint8Array | StreamedBody
  /** The reply to send if this one cannot be written: it still says how the call ended. */
  instead?(): Reply
}

export function jsonReply(status: number, value: unknown, headers: readonly string[] = []): Reply {
  return jsonTextReply(status, JSON.stringify(value), headers)
}

export function jsonTextReply(status: number, body: string, headers: readonly string[] = []): Reply {
  return { status, headers: ['Content-Type', 'application/json; charset=utf-8', ...headers], body }
}

export function isStream(body: Reply['body']): body is StreamedBody {
  return typeof body === 'object' && !(body instanceof Uint8Array)
}

/** Whether HTTP allows no body with this status (RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5). */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}

export class HttpError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** Names and values in turn. */
    readonly headers: readonly string[] = [],
  ) {
    super(message)
  }
}

/** With the status and the words that its code has everywhere. */
export function httpErrorOf(code: string, headers?: readonly string[]): HttpError {
  const { status, words } = answerCode(code)
  return new HttpError(status, code, words, headers)
}

export function tooLarge(bytesMax: number): HttpError {
  return new HttpError(413, 'body_too_large', `The body is larger than the ${bytesMax} bytes that are read.`)
}

export function overloaded(): HttpError {
  return httpErrorOf('overloaded', ['Retry-After', '5'])
}

export function methodNotAllowed(allowed: readonly string[]): HttpError {
  const allow = allowOf(allowed)
  return new HttpError(405, 'method_not_allowed', `This path answers ${allow}.`, ['Allow', allow])
}

export function allowOf(methods: readonly string[]): string {
  return [...methods, 'OPTIONS'].join(', ')
}

/** The shape of every error body: `{"error": {"code", "message", …}}`. */
export function errorBody(code: string, message: string, fields?: Readonly<Record<string, unknown>>) {
  return { error: { code, message, ...fields } }
}

export function replyToError(cause: unknown, logger: Logger): Reply {
  if (cause instanceof HttpError)
    return jsonReply(cause.status, errorBody(cause.code, cause.message), cause.headers)
  logger.error({ err: cause }, 'a request broke the server’s own code')
  return jsonReply(500, errorBody('internal_error', 'Something broke on our side.'))
}
