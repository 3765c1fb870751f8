/** A route is data. A host carries request and reply. What breaks before a request is a call is an `HttpError`. */

import type { IncomingHttpHeaders } from 'node:http'
import { answerCode } from '../../domain/answer-codes.js'
import type { BodyType } from '../../domain/body-type.js'
import type { EndpointDef } from '../../domain/endpoint.js'
import type { Handler } from '../../domain/handler-context.js'
import type { Target } from '../../domain/path-pattern.js'
import type { Parsed } from '../../domain/x402.js'
import type { Caller } from '../../ports/charge.js'
import type { Logger } from '../../ports/logger.js'
import type { BodyShare } from './body-memory-limit.js'

export interface BodyReading {
  readonly bytesMax: number
  /** @default 'json' */
  readonly type?: BodyType
  /** Another server reads it. @default false */
  readonly isForwarded?: boolean
}

/** The app around, where a request came to a route of it. It reads the body after the gate, as if nobody had. */
export interface AppRoute {
  readonly handler: Handler
  readonly stream: boolean
}

/** What any host (Node, or a runtime with `fetch`) can say of a request and its caller, before the body is read. */
export interface HostRequest {
  readonly method: string
  /** The path below `mountedAt`, and the query, as they were sent. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
  /** The path at which another app mounts this one; empty where there is none. */
  readonly mountedAt: string
  readonly scheme: 'http' | 'https'
  /** The host and port that were reached, for requests whose headers name none. */
  readonly localHost: string
  /** The address at the other end of the connection, where the host knows it. */
  readonly address: string | undefined
  readonly caller: Caller
  readonly carriesBody: boolean
  /** Whether its caller can tell a stream that breaks from one that ends. HTTP/1.0 ends both by closing the connection. */
  readonly canStream: boolean
  readonly app?: AppRoute | undefined
  /** @throws HttpError for a body that cannot be read, or is too large. */
  readBody(how: BodyReading, share: BodyShare): Parsed<unknown> | Promise<Parsed<unknown>>
  /** Discards a body that nothing read. */
  skipBody(): void
  /** Reports that this request's answer could not be written: its caller's `onEnd` then receives `false`. */
  undelivered(): void
}

export interface Route {
  /** Headers of every answer of the route, refusals too: names and values in turn. */
  readonly headers: readonly string[]
  handle(request: HostRequest): Reply | Promise<Reply>
  /** Answered, and not among the methods that `Allow` names: the path is for another method. @default false */
  readonly isProbe?: boolean
  /** Another server answers it unpaid, and OPTIONS too where nothing at its path is sold. @default false */
  readonly isPassed?: boolean
}

/** A path that another server answers unpaid. */
export interface PassedRoute extends Pick<EndpointDef, 'name' | 'path' | 'method' | 'methods'> {
  at(target: Target): Route
}

/** A route without payment, at the root and under `basePath`. */
export interface FreeRoute extends Route {
  readonly path: string
  readonly method: 'GET' | 'POST'
  /** For pages of this origin only. @default false */
  readonly sameOrigin?: boolean
  /** An app that mounts this one answers the path itself. @default false */
  readonly isLeftToMountingApp?: boolean
}

/** A body that is sent as it comes. */
export interface StreamedBody {
  readonly chunks: AsyncIterable<Uint8Array | string>
  /** Aborts where it must end now, also if its reader takes nothing. */
  readonly cut?: AbortSignal
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

export function incompleteBody(): HttpError {
  return httpErrorOf('incomplete_body')
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
