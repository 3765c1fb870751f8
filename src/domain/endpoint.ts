/** The definition of one paid route, checked when its module loads. */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { type Lifecycle, lifecycleOf } from './deprecation.js'
import { type EndpointLimits, limitsOf } from './endpoint-limits.js'
import { SvcError, shown } from './errors.js'
import { usdToBaseUnits } from './money.js'
import { checkSubscription, type Subscription } from './subscription-terms.js'

export type { JSONSchema }

/** The HTTP methods that an endpoint can have. */
export type Method = 'GET' | 'POST'

/** The request, as a price function and a handler receive it. A request without a body has the body `{}`. */
export interface PriceContext<Body = unknown> {
  /** The body, or the query of a GET; checked where the endpoint has an `input`. */
  readonly body: Body
  /** Header values by lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The query's parameters. */
  readonly query: Readonly<Record<string, unknown>>
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

/** The argument of a handler: the request, the payment, and the signal to stop. */
export interface HandlerContext<Body = unknown> extends PriceContext<Body> {
  /** Logs an entry for this request. An error answer contains the last 20 entries, so the caller reads them. */
  log(message: string, data?: unknown): void
  /** The payment that will be settled. In a call that a window covers, no payment is settled, and its `amount` is `0`. */
  readonly payment: HandlerPayment
  /**
   * Aborts when the answer can no longer be delivered: the handler timed out, the caller hung up, or the server is
   * stopping.
   */
  readonly signal: AbortSignal
  /** The caller's `Idempotency-Key`. A handler may be started more than once under one key, and is settled at most once. */
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
export type Handler<Body = unknown> = (ctx: HandlerContext<Body>) => unknown
/**
 * Returns a price in USD, such as `$0.01`. It must be cheap, and give the same price for the same request. A probe
 * calls it before there is a body: then `body` is `{}`, so every field may be missing. If it throws for a probe, it
 * is called again with an example of the input. Only the log has the errors that it throws.
 */
export type PriceFunction<Body = unknown> = (
  ctx: PriceContext<Body extends object ? Partial<Body> : Body>,
) => string | Promise<string>

/** The type of a body that satisfies a JSON Schema; `unknown` without one. */
export type BodyOf<Input> = Input extends JSONSchema ? FromSchema<Input> : unknown

/** The options of {@link defineEndpoint}. */
export interface EndpointOptions<Input extends JSONSchema | undefined = undefined> extends EndpointLimits {
  /** The URL segment and the discovery name: lowercase letters, digits, `-` and `/`. */
  readonly name: string
  /** One line that tells other agents what it does; a quote has its first 500 characters. @default '' */
  readonly description?: string
  /**
   * The price in USD, `$0.01` or `0.01`, or a cheap, deterministic function of the request. Set either `price` or
   * `subscription`.
   */
  readonly price?: string | PriceFunction<BodyOf<Input>>
  /** Sells windows instead of calls. Set either `price` or `subscription`. */
  readonly subscription?: Subscription
  /** Shown in the manifest where `price` is a function. */
  readonly priceHint?: string
  /** HTTP method. @default 'POST' */
  readonly method?: Method
  /** JSON Schema (2020-12) of the body, or of the query of a GET. It is published, and checked before payment. */
  readonly input?: Input
  /**
   * Accept an `input` schema whose check a stranger's body could make slow: the check runs before payment and blocks
   * the process. Without this option such schemas are refused. With it, patterns are V8's, with look-around and back
   * references.
   *
   * @default false
   */
  readonly allowSlowInput?: boolean
  /** JSON Schema (2020-12) of the answer's body; published in `/openapi.json`, and not enforced. */
  readonly output?: JSONSchema
  /** Milliseconds that the handler may take: 1000 to 300000. @default 30000 */
  readonly timeout?: number
  /** Whether discovery shows it. An unlisted endpoint can still be called and paid. @default true */
  readonly listed?: boolean
  /** What it is about; discovery shows them. @default none */
  readonly tags?: readonly string[]
  /** From when callers should use another endpoint: a date, or its ISO 8601 text. Every answer says so (RFC 9745). */
  readonly deprecated?: Date | string
  /** When this endpoint is expected to stop, not before `deprecated`. Every answer says so (RFC 8594). */
  readonly sunset?: Date | string
  /** Does the work, for a verified payment or in a window that was bought. A failure is not charged. */
  readonly handler: Handler<BodyOf<Input>>
}

/** A checked endpoint, with its defaults filled in; see {@link EndpointOptions}. */
export interface EndpointDef extends Lifecycle, EndpointLimits {
  /** The URL segment and the discovery name. */
  readonly name: string
  /** One line that tells other agents what it does; may be empty. */
  readonly description: string
  /** USD, or a function that returns it; absent where the endpoint sells windows. */
  readonly price?: string | PriceFunction<never>
  /** The windows that it sells; absent where it sells calls. */
  readonly subscription?: Subscription
  /** Shown in the manifest where `price` is a function. */
  readonly priceHint?: string
  /** HTTP method. */
  readonly method: Method
  /** JSON Schema of the body, or of the query of a GET. */
  readonly input?: JSONSchema
  /** An `input` that is slow to check is accepted. */
  readonly allowSlowInput?: true
  /** JSON Schema of the answer's body. */
  readonly output?: JSONSchema
  /** Milliseconds that the handler may take. */
  readonly timeout: number
  /** Whether discovery shows it. */
  readonly listed: boolean
  /** What it is about. */
  readonly tags: readonly string[]
  /** Does the work. */
  readonly handler: Handler<never>
}

export const TIMEOUT_MIN_MS = 1_000
export const TIMEOUT_MAX_MS = 300_000
export const TIMEOUT_DEFAULT_MS = 30_000

const NAME = /^[a-z0-9-]+(\/[a-z0-9-]+)*$/

/** Names whose path is a free route's path: an endpoint there could never be reached. */
const FREE_NAMES: ReadonlySet<string> = new Set(['health', 'ready', 'metrics', 'a2a', 'mcp'])

/**
 * Checks an endpoint and fills in its defaults. The public `defineEndpoint` has a schema compiler, and checks that
 * `input` compiles.
 *
 * @throws SvcError `invalid_name`, `invalid_price`, `invalid_timeout`, `invalid_endpoint`
 */
export function endpoint<const Input extends JSONSchema | undefined = undefined>(
  options: EndpointOptions<Input>,
): EndpointDef {
  const { name, description = '', price, subscription, priceHint, input, output, handler } = options
  const {
    method = 'POST',
    timeout = TIMEOUT_DEFAULT_MS,
    listed = true,
    tags = [],
    allowSlowInput = false,
  } = options
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw new SvcError(
      `An endpoint's name is made of lowercase letters, digits, '-' and single '/', not ${shown(name)}`,
      'invalid_name',
    )
  }
  const refuse = (why: string): never => {
    throw new SvcError(`Endpoint '${name}': ${why}`, 'invalid_endpoint')
  }
  if (FREE_NAMES.has(name)) refuse(`the path /${name} is a free route of every agent; choose another name`)
  if (typeof handler !== 'function') refuse('handler is not a function')
  if (typeof description !== 'string') refuse('description is not a string')
  if ((price === undefined) === (subscription === undefined)) {
    refuse('give exactly one of price and subscription')
  }
  if (price !== undefined && typeof price !== 'function') usdToBaseUnits(price)
  if (subscription !== undefined) checkSubscription(subscription, refuse)
  if (priceHint !== undefined && typeof priceHint !== 'string') refuse('priceHint is not a string')
  if (method !== 'GET' && method !== 'POST') refuse(`method is GET or POST, not ${shown(method)}`)
  for (const [what, schema] of Object.entries({ input, output })) {
    if (schema !== undefined && (typeof schema !== 'object' || schema === null || Array.isArray(schema))) {
      refuse(`${what} is not a JSON Schema object`)
    }
  }
  if (!Number.isInteger(timeout) || timeout < TIMEOUT_MIN_MS || timeout > TIMEOUT_MAX_MS) {
    throw new SvcError(
      `Endpoint '${name}': timeout is ${TIMEOUT_MIN_MS} to ${TIMEOUT_MAX_MS} whole milliseconds, not ${shown(timeout)}`,
      'invalid_timeout',
    )
  }
  if (typeof listed !== 'boolean') refuse('listed is not a boolean')
  if (typeof allowSlowInput !== 'boolean') refuse('allowSlowInput is not a boolean')
  if (!Array.isArray(tags) || tags.some(tag => typeof tag !== 'string'))
    refuse('tags is not a list of strings')
  return Object.freeze({
    name,
    description,
    ...(price !== undefined && { price: price as EndpointDef['price'] }),
    ...(subscription !== undefined && { subscription: Object.freeze({ ...subscription }) }),
    ...(priceHint !== undefined && { priceHint }),
    method,
    ...(input !== undefined && { input: input as JSONSchema }),
    ...(allowSlowInput && { allowSlowInput }),
    ...(output !== undefined && { output }),
    timeout,
    listed,
    tags: Object.freeze([...tags]),
    ...lifecycleOf(name, options),
    ...limitsOf(name, options),
    handler: handler as Handler<never>,
  })
}
