/** What a seller writes for one paid route, checked when its module loads. */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { type EndpointLimits, limitsOf } from './endpoint-limits.js'
import { SvcError, shown } from './errors.js'
import { type Lifecycle, lifecycleOf } from './lifecycle.js'
import { usdToBaseUnits } from './money.js'
import { periodMs } from './period.js'

export type { JSONSchema }

/** The HTTP methods that an endpoint can have. */
export type Method = 'GET' | 'POST'

/** What a price function and a handler are told about the request. A request without a body has the body `{}`. */
export interface PriceContext<Body = unknown> {
  /** The body; of a GET, the query. Checked, where the endpoint has an `input`. */
  readonly body: Body
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The query's parameters. */
  readonly query: Readonly<Record<string, unknown>>
}

/** The verified payment. It is settled after the handler has succeeded, not before. */
export interface HandlerPayment {
  /** Its transaction id; absent where no transaction could be read in it. */
  readonly txId?: string
  /** Who pays. */
  readonly payer?: string
  /** Base units of the asset. */
  readonly amount: string
  /** The same in USD, where the asset's decimals are known. */
  readonly usd?: number
  /** The asset's id, in decimal. */
  readonly asset: string
}

/** What a handler is told: the request, who pays, and when to give up. */
export interface HandlerContext<Body = unknown> extends PriceContext<Body> {
  /** Kept per request; the last 20 entries are attached to an error answer, where the caller reads them. */
  log(message: string, data?: unknown): void
  /** What is about to be settled; of a call that a window covers, what bought nothing: its `amount` is `0`. */
  readonly payment: HandlerPayment
  /** Aborts when the answer can no longer be delivered: timed out, the caller hung up, the server is stopping. */
  readonly signal: AbortSignal
  /** The caller's `Idempotency-Key`. A handler may be started more than once under one key, and is settled at most once. */
  readonly idempotencyKey?: string
  /** W3C trace id: the caller's `traceparent`, else a new one. */
  readonly traceId: string
}

/**
 * Does an endpoint's work. Data is answered as JSON with status 200; a `Uint8Array`, `ArrayBuffer` or `Blob` as its bytes;
 * a WHATWG `Response` with its own status, headers and bytes. What JSON would drop or change (`undefined`, `NaN`, functions,
 * Errors, Maps, promises, bytes inside) is no answer: the call fails with `handler_error`, and the log says where it is.
 *
 * What is thrown, and a `Response` of status 400 or above, is a failure: the caller is not charged. An `SvcError`, or an
 * error whose `expose` is true, chooses the message, code and status (400 to 599, but not 402) that the caller is told.
 * Any other error is 500 `handler_error`, and its message is for the log alone.
 */
export type Handler<Body = unknown> = (ctx: HandlerContext<Body>) => unknown
/**
 * Gives a price in USD, such as `$0.01`: cheap, and the same for the same request. It is also asked before there is a
 * body (a probe): then `body` is `{}`, which is why none of its fields is sure to be there. Where it throws on that, it is
 * asked again with an example of the input; what it throws is for the log alone.
 */
export type PriceFunction<Body = unknown> = (
  ctx: PriceContext<Body extends object ? Partial<Body> : Body>,
) => string | Promise<string>

/** What one payment buys instead of one call: a window of time in which calls are free. */
export interface Subscription {
  /** USD for one window, such as `$5`. */
  readonly price: string
  /**
   * How long a window stays open: a whole number of `ms`, `s`, `m`, `h`, `d` or `w`, such as `30d`; ten years at most.
   */
  readonly period: string
}

/** The type of a body that satisfies a JSON Schema; `unknown` without one. */
export type BodyOf<Input> = Input extends JSONSchema ? FromSchema<Input> : unknown

/** What {@link defineEndpoint} is told. */
export interface EndpointOptions<Input extends JSONSchema | undefined = undefined> extends EndpointLimits {
  /** The URL segment and the discovery name: lowercase letters, digits, `-` and `/`. */
  readonly name: string
  /** One line for a stranger's agent; a quote carries its first 500 characters. @default '' */
  readonly description?: string
  /** USD, `$0.01` or `0.01`; or a cheap, deterministic function of the request. Exactly one of `price` and `subscription`. */
  readonly price?: string | PriceFunction<BodyOf<Input>>
  /** Sells windows instead of calls. Exactly one of `price` and `subscription`. */
  readonly subscription?: Subscription
  /** Shown in the manifest where `price` is a function. */
  readonly priceHint?: string
  /** HTTP method. @default 'POST' */
  readonly method?: Method
  /** JSON Schema (2020-12) of the body, or of the query of a GET; published, and enforced before payment. */
  readonly input?: Input
  /**
   * Accept an `input` that a stranger's body could make slow to check: the check runs before payment and stops everything
   * else meanwhile. Without it such schemas are refused. Its patterns are then V8's, with look-around and back references.
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
  /** Since when callers should use something else: a date, or its ISO 8601 text. Every answer says so (RFC 9745). */
  readonly deprecated?: Date | string
  /** When this endpoint is expected to go, not before `deprecated`. Every answer says so (RFC 8594). */
  readonly sunset?: Date | string
  /** Does the work: for a verified payment, or in a window that was bought. A failure charges nobody. */
  readonly handler: Handler<BodyOf<Input>>
}

/** A checked endpoint, with its defaults filled in; see {@link EndpointOptions}. */
export interface EndpointDef extends Lifecycle, EndpointLimits {
  /** The URL segment and the discovery name. */
  readonly name: string
  /** One line for a stranger's agent; may be empty. */
  readonly description: string
  /** USD, or a function that gives it; absent where windows are sold. */
  readonly price?: string | PriceFunction<never>
  /** The windows that it sells; absent where calls are sold. */
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

/** Names whose path is a free route's: an endpoint there could never be reached. */
const FREE_NAMES: ReadonlySet<string> = new Set(['health', 'ready', 'metrics', 'a2a', 'mcp'])

/**
 * Checks an endpoint and fills its defaults in. Whether `input` compiles as a schema is checked by the public
 * `defineEndpoint`, which has a compiler.
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

function checkSubscription(subscription: unknown, refuse: (why: string) => never): void {
  if (typeof subscription !== 'object' || subscription === null) refuse('subscription is not {price, period}')
  const { price, period } = subscription as { price?: unknown; period?: unknown }
  usdToBaseUnits(price)
  periodMs(period)
}
