/** Errors of the HTTP layer itself, before a request becomes a call. */
import type { Logger } from '../../ports/logger.js'
import { jsonReply, type Reply } from './reply.js'

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

export function tooLarge(bytesMax: number): HttpError {
  return new HttpError(413, 'body_too_large', `The body is larger than the ${bytesMax} bytes that are read.`)
}

export function methodNotAllowed(allowed: readonly string[]): HttpError {
  const allow = allowOf(allowed)
  return new HttpError(405, 'method_not_allowed', `This path answers ${allow}.`, ['Allow', allow])
}

/** The value of `Allow`: OPTIONS is free on every path. */
export function allowOf(methods: readonly string[]): string {
  return [...methods, 'OPTIONS'].join(', ')
}

/** The shape of every error body: `{"error": {"code", "message", …}}`. */
export function errorBody(code: string, message: string, fields?: Readonly<Record<string, unknown>>) {
  return { error: { code, message, ...fields } }
}

/** The reply to any error that was thrown before an answer existed. */
export function replyToError(cause: unknown, logger: Logger): Reply {
  if (cause instanceof HttpError) {
    return jsonReply(cause.status, errorBody(cause.code, cause.message), cause.headers)
  }
  logger.error({ err: cause }, 'a request broke the server’s own code')
  return jsonReply(500, errorBody('internal_error', 'Something broke on our side.'))
}
