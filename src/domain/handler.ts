/** What a handler and a price function receive, and what they do. */
import { type BodyType, isJson, mediaTypeIn, textIn } from './body-type.js'
import { bufferOf } from './bytes.js'
import type { BodyOf } from './endpoint-schemas.js'
import { deeperThan, JSON_DEPTH_MAX, mayHoldUnusualNumbers, plainNumbers } from './json.js'
import type { PathParams } from './path-pattern.js'

/** The request, as a price function and a handler receive it. A request without a body has the body `{}`. */
export interface PriceContext<Body = unknown> {
  /**
   * The body, or the query of a GET; checked where the endpoint has an `input`. A library's schema gives its output:
   * with defaults and transforms.
   */
  readonly body: Body
  /** Header values by lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The query's parameters. */
  readonly query: Readonly<Record<string, unknown>>
  /** The parts of the path that the endpoint's `path` names, percent-decoded once; `{}` where it names none. */
  readonly params: PathParams
}

/** The verified payment. It is settled after the handler has succeeded, not before. */
export interface HandlerPayment {
  /** Its transaction id; absent where no transaction could be read in it. */
  readonly txId?: string
  /** The payer's address. */
  readonly payer?: string
  /** Base units of the asset. */
  readonly amount: string
  /** The same amount in USD, where the asset's decimals are known. */
  readonly usd?: number
  /** The asset's id, in decimal. */
  readonly asset: string
}

/** Logs an entry for this request. A text or an object whose field is named like a secret (`password`, `apiKey`) is masked. */
export interface HandlerLog {
  /** The caller reads the last 20 entries in an error answer; the seller reads all, in the `logger` and under `svc dev`. */
  (message: string, data?: unknown): void
  /** The seller alone reads it, in the `logger` and under `svc dev`: no answer, journal or page has it. */
  private(message: string, data?: unknown): void
}

/** The argument of a handler: the request, the payment, and the signal to stop. */
export interface HandlerContext<Body = unknown> extends PriceContext<Body> {
  /** The caller reads the last 20 entries in an error answer; the seller reads all, in the `logger` and under `svc dev`. */
  readonly log: HandlerLog
  /**
   * Says what the call cost, in USD, where a balance pays for it: at most the price, which it costs without this. Parts of a base
   * unit are rounded up, and the last call counts. A call that is paid by itself costs its price. What is no amount, or above the
   * price, throws: the call fails, and costs nothing.
   *
   * @example
   * charge(`$${(tokens * 0.00002).toFixed(8)}`)
   */
  readonly charge: (usd: string) => void
  /** The payment that will be settled. In a call that a window or a balance covers, no payment is settled, and its `amount` is `0`. */
  readonly payment: HandlerPayment
  /** Aborts when the answer can no longer be delivered: the handler timed out, the caller hung up, or the server is stopping. */
  readonly signal: AbortSignal
  /**
   * The caller's `Idempotency-Key`, or the id of its `payment-identifier` extension; of an A2A task without
   * either, one that the task's id makes. A handler may be started more than once under one key, and is settled at
   * most once.
   */
  readonly idempotencyKey?: string
  /** W3C trace id: the caller's `traceparent`, else a new one. */
  readonly traceId: string
}

/**
 * Does an endpoint's work. Data is answered as JSON with status 200; a `Uint8Array`, `ArrayBuffer` or `Blob` as its
 * bytes; a WHATWG `Response` with its own status, headers and bytes. A value that JSON would drop or change
 * (`undefined`, `NaN`, functions, Errors, Maps, promises, bytes inside) is not an answer: the call fails with
 * `handler_error`, and the log says where the value is.
 *
 * A thrown error, or a `Response` of status 400 or above, is a failure: the caller is not charged. An `SvcError`, or
 * an error whose `expose` is true, sets the message, code and status (400 to 599, but not 402) that the caller
 * receives. Any other error is 500 `handler_error`, and only the log has its message.
 */
export type Handler<Body = unknown, Answer = unknown> = (
  ctx: HandlerContext<Body>,
) => Answer | Promise<Answer>
/**
 * Returns a price in USD, such as `$0.01`. It must be cheap, and give the same price for the same request. A probe
 * calls it before there is a body: then `body` is `{}`, or what a library's schema makes of that, so every field may be
 * missing. If it throws for a probe, it is called again with an example of the input. Only the log has the errors that
 * it throws.
 */
export type PriceFunction<Body = unknown> = (
  ctx: PriceContext<Body extends object ? Partial<Body> : Body>,
) => string | Promise<string>

/** The body as an endpoint reads it. */
export type ReadBody<Input, Type extends BodyType> = Type extends 'text'
  ? string
  : Type extends 'bytes'
    ? Uint8Array
    : BodyOf<Input>

/** A handler's answer, rendered: it can be stored, replayed and sent without failing. */
export interface Answer {
  readonly status: number
  /** Lower-case names. `content-type` is among them where there is a body. */
  readonly headers: Readonly<Record<string, string>>
  /** Each value of `set-cookie`: the one header that may come several times and cannot be joined (RFC 6265, section 3). */
  readonly cookies?: readonly string[]
  /** Well-formed text, which is sent as UTF-8, or bytes. */
  readonly body: string | Uint8Array
  /** The body, where it is sent as it comes. Then `body` is empty, until the stream has ended whole. */
  readonly stream?: AnswerStream
}

/** A body that is sent as it comes. */
export interface AnswerStream {
  readonly chunks: AsyncIterable<Uint8Array>
  /** Aborts where it must end now, also if its reader takes nothing. */
  readonly cut: AbortSignal
  /** The host could not send it: its caller did not break it. */
  unsent(cause: unknown): void
}

/** An opened stream. Whoever has it reads it to its end, or ends it. */
export interface StreamSource {
  next(): Promise<{ readonly done: boolean; readonly bytes?: Uint8Array }>
  /** Lets the source go, whatever it is doing. May be called again. */
  end(): void
}

/** What a handler of ours returns: an answer that another server gave, and its body where that is a stream. */
export class ForwardedAnswer {
  constructor(
    readonly answer: Answer,
    readonly source?: StreamSource,
  ) {}
}

/** How many bytes a body has. */
export function bytesIn(body: string | Uint8Array = ''): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
}

/** The content of a delivered answer, for transports that carry data instead of bytes. */
export type AnswerContent =
  | { readonly kind: 'json'; readonly value: unknown; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bytes'; readonly base64: string; readonly mediaType: string }

/** What claims to be JSON but is not, or has a number that would be written as another, is text; what is no text of its charset is bytes. */
export function contentOf({ headers, body }: Answer): AnswerContent {
  const mediaType = mediaTypeIn(headers['content-type'])
  const claimsJson = isJson(mediaType)
  const isText = claimsJson || mediaType.startsWith('text/') || body.length === 0
  const text = typeof body === 'string' ? body : textIn(body, headers['content-type'])
  if (!isText || text === undefined) {
    const base64 = (typeof body === 'string' ? Buffer.from(body, 'utf8') : bufferOf(body)).toString('base64')
    return { kind: 'bytes', base64, mediaType: mediaType || 'application/octet-stream' }
  }
  if (!claimsJson || deeperThan(text, JSON_DEPTH_MAX)) return { kind: 'text', text }
  try {
    const value: unknown = JSON.parse(text)
    return { kind: 'json', value: mayHoldUnusualNumbers(text) ? plainNumbers(value) : value, text }
  } catch {
    return { kind: 'text', text }
  }
}
