/** The definition of one paid route, checked when its module loads. */
import { type BodyType, MEDIA_TYPE } from './body-type.js'
import { formerNames, LIFECYCLE, type Lifecycle } from './endpoint-lifecycle.js'
import { type EndpointLimits, LIMITS, limitsOf } from './endpoint-limits.js'
import { type AnswerOf, type EndpointSchema, type EndpointSchemas, schemasOf } from './endpoint-schemas.js'
import { SvcError, shown } from './errors.js'
import type { Handler, PriceFunction, ReadBody } from './handler.js'
import { usdToBaseUnits } from './money.js'
import {
  asGiven,
  flag,
  listOf,
  type Option,
  oneOf,
  optional,
  present,
  readDefinition,
  such,
  text,
} from './option-checks.js'
import { checkedMethods, checkedPath, type Method, pathOfEndpoint } from './path-pattern.js'
import { type QuoteExtra, quoteExtra } from './quote-fields.js'
import { type UpstreamOptions, upstreamOf } from './upstream.js'
import { type Subscription, soldWindow } from './window-and-balance-terms.js'

/** The options of {@link defineEndpoint}. */
// `NoInfer`: nothing is inferred from the body's type. Without it and without \`strict\`, TypeScript tried to go back from
// the parameter of a handler to its schema: 9.6 million instantiations, 14 s and an error (TypeScript 6).
export interface EndpointOptions<
  Input extends EndpointSchema | undefined = undefined,
  Type extends BodyType = 'json',
  Output extends EndpointSchema | undefined = EndpointSchema | undefined,
> extends EndpointLimits,
    UpstreamOptions {
  /** The URL segment and the discovery name: lowercase letters, digits, `-` and `/`. */
  readonly name: string
  /** Its earlier names, the first one first: what was sold under that one stays (windows, kept answers, tasks). @default none */
  readonly formerly?: readonly string[]
  /** One line that tells other agents what it does; a quote has its first 500 characters. @default '' */
  readonly description?: string
  /** The price in USD, `$0.01` or `0.01`, or a cheap, deterministic function of the request. Set it or `subscription`. */
  readonly price?: string | PriceFunction<NoInfer<ReadBody<Input, Type>>>
  /** Sells windows instead of calls. Set either `price` or `subscription`. */
  readonly subscription?: Subscription
  /** Shown in the manifest where `price` is a function. */
  readonly priceHint?: string
  /** The HTTP method; `methods` is for several. @default 'POST' */
  readonly method?: Method
  /**
   * Several, the one that other protocols use first. A GET takes its input from the query, all others from the body. HEAD is answered
   * 405, because its answer would be thrown away; OPTIONS is free. @default [method]
   */
  readonly methods?: Method | readonly Method[]
  /**
   * Where it is, below `basePath`, with parameters: `/items/:id`, or `/files/*rest` for all that is below. The handler and the price get
   * `params`. The most specific pattern that has the request's method answers. @default the name
   */
  readonly path?: string
  /**
   * What the body is, of other methods than GET: JSON, text (UTF-8) or bytes, whatever its content type says. The handler and the price
   * get a value, a string or a `Uint8Array`. `input` is for JSON alone.
   *
   * @default 'json'
   */
  readonly bodyType?: Type
  /**
   * The schema of the body, or of the query of a GET: JSON Schema (2020-12), or a schema of zod, valibot, arktype or
   * another library of the Standard Schema and Standard JSON Schema interfaces. It is published as JSON Schema, and
   * checked before payment. A library's schema does the check itself, and the handler and the price get its output.
   */
  readonly input?: Input
  /**
   * Accept an `input` schema whose check a stranger's body could make slow: the check runs before payment and blocks
   * the process. Without this option such patterns are refused, and a check that takes too many steps ends. With it, patterns
   * are V8's, with look-around and back references. It does not concern a library's schema, whose check is the library's.
   *
   * @default false
   */
  readonly allowSlowInput?: boolean
  /**
   * The schema of the answer's body, of the same kinds as `input`; published in `/openapi.json` and to the Bazaar. Outside
   * production (`NODE_ENV`) an answer that does not satisfy it is logged as a warning, sent and charged as it is.
   */
  readonly output?: Output
  /** Milliseconds that the handler may take: 1000 to 300000. @default 30000 */
  readonly timeout?: number
  /** Whether discovery shows it. An unlisted endpoint can still be called and paid. @default true */
  readonly listed?: boolean
  /** What it is about; discovery shows them. @default none */
  readonly tags?: readonly string[]
  /** Fields of its quotes in `accepts[].extra`, beside those of the agent: see `extra` of {@link AgentOptions}. @default the agent's */
  readonly extra?: QuoteExtra
  /** From when callers should use another endpoint: a date, or its ISO 8601 text. Every answer says so (RFC 9745). */
  readonly deprecated?: Date | string
  /** When this endpoint is expected to stop, not before `deprecated`. Every answer says so (RFC 8594). */
  readonly sunset?: Date | string
  /** Does the work, for a verified payment or in a window. A failure is not charged. Set either `handler` or `upstream`. */
  readonly handler?: Handler<NoInfer<ReadBody<Input, Type>>, NoInfer<AnswerOf<Output>>>
}

type Filled = 'name' | 'description' | 'method' | 'timeout' | 'listed' | 'tags'
type AsGiven = 'formerly' | 'subscription' | 'priceHint' | 'path' | 'extra'

/** A checked endpoint, with its defaults filled in; see {@link EndpointOptions}. */
export interface EndpointDef
  extends Lifecycle,
    EndpointLimits,
    EndpointSchemas,
    UpstreamOptions,
    Required<Pick<EndpointOptions, Filled>>,
    Pick<EndpointOptions, AsGiven> {
  /** USD, or a function that returns it; absent where the endpoint sells windows. */
  readonly price?: string | PriceFunction<never>
  /** It is the agent's endpoint that sells balances. */
  readonly sells?: 'balance'
  /** Base units of a fixed price or of a window; absent where each request has its own price. */
  readonly amount?: string
  /** All of its methods, where it has several; `method` is the first. */
  readonly methods?: readonly Method[]
  /** What the body is, where it is not JSON. */
  readonly bodyType?: Exclude<BodyType, 'json'>
  /** An `input` that is slow to check is accepted. */
  readonly allowSlowInput?: true
  /** Does the work. */
  readonly handler: Handler<never>
}

export const TIMEOUT_MIN_MS = 1_000
export const TIMEOUT_MAX_MS = 300_000
const TIMES = `${TIMEOUT_MIN_MS} to ${TIMEOUT_MAX_MS} whole milliseconds`
export const TIMEOUT_DEFAULT_MS = 30_000

const NAME = /^[a-z0-9-]+(\/[a-z0-9-]+)*$/

/** Names whose path is a free route's path: an endpoint there could never be reached. */
const FREE_NAMES: ReadonlySet<string> = new Set(['health', 'ready', 'metrics', 'a2a', 'mcp'])

const ANY = asGiven<unknown>()

/** Every option, and what a checked endpoint has besides: `defineAgent` checks it again. */
const OPTIONS = {
  ...{ name: asGiven<string>(), timeout: asGiven<number | undefined>(), amount: ANY, path: ANY },
  ...{ input: ANY, inputSchema: ANY, output: ANY, outputSchema: ANY },
  formerly: formerNames(NAME),
  description: text(''),
  price: asGiven<EndpointDef['price']>(),
  subscription: soldWindow,
  priceHint: optional(text()),
  method: asGiven<Method | undefined>(),
  methods: asGiven<EndpointOptions['methods']>(),
  bodyType: oneOf(Object.keys(MEDIA_TYPE) as BodyType[], 'json'),
  allowSlowInput: flag(false),
  listed: flag(true),
  tags: listOf(tag => typeof tag === 'string', 'a list of texts', []),
  extra: quoteExtra,
  ...LIFECYCLE,
  ...LIMITS,
  upstream: asGiven<string | undefined>(),
  sellRedirects: optional(flag(false)),
  handler: such<Handler<never>>(given => typeof given === 'function', 'a function'),
} satisfies Record<Exclude<keyof EndpointOptions | keyof EndpointDef, 'sells'>, Option<unknown>>

/**
 * Checks an endpoint and fills in its defaults. The public `defineEndpoint` has a schema compiler, and checks that
 * `input` compiles.
 *
 * @throws SvcError `invalid_name`, `invalid_price`, `invalid_timeout`, `invalid_endpoint`
 */
export function endpoint<
  const Input extends EndpointSchema | undefined = undefined,
  Type extends BodyType = 'json',
>(options: EndpointOptions<Input, Type>): EndpointDef {
  const { name } = options
  if (typeof name !== 'string' || !NAME.test(name)) {
    const why = `An endpoint's name is made of lowercase letters, digits, '-' and single '/', not ${shown(name)}`
    throw new SvcError(why, 'invalid_name')
  }
  const refuse = (why: string, code = 'invalid_endpoint'): never => {
    throw new SvcError(`Endpoint '${name}': ${why}`, code)
  }
  const read = readDefinition(options, OPTIONS, refuse)
  const { price, subscription, bodyType, timeout = TIMEOUT_DEFAULT_MS } = read
  const path = read.path === undefined ? undefined : checkedPath(read.path, refuse)
  const at = pathOfEndpoint({ name, ...(path !== undefined && { path }) })
  if (FREE_NAMES.has(at.slice(1)))
    refuse(`the path ${at} is a free route of every agent; choose another name`)
  const methods = checkedMethods(read, refuse)
  const isGet = methods.every(each => each === 'GET')
  if ((price === undefined) === (subscription === undefined))
    refuse('give exactly one of price and subscription')
  const amount =
    typeof price === 'function' ? undefined : String(usdToBaseUnits(subscription?.price ?? price))
  const schemas = schemasOf(options as EndpointSchemas, refuse)
  if (bodyType !== 'json' && isGet) refuse(`bodyType is for POST and others: a GET has no body`)
  if (schemas.input !== undefined && !isGet && methods.includes('GET'))
    refuse('input describes the query of a GET or the body of other methods: define an endpoint for each')
  if (bodyType !== 'json' && schemas.input !== undefined)
    refuse(`input describes JSON, and bodyType is ${bodyType}`)
  if (!Number.isInteger(timeout) || timeout < TIMEOUT_MIN_MS || timeout > TIMEOUT_MAX_MS)
    refuse(`timeout is ${TIMES}, not ${shown(timeout)}`, 'invalid_timeout')
  // RFC 9745.
  if (read.deprecated && read.sunset && read.sunset < read.deprecated)
    refuse('sunset comes before deprecated')
  return Object.freeze(
    present({
      ...read,
      amount,
      method: methods[0]!,
      methods: methods.length > 1 ? methods : undefined,
      path: path === `/${name}` ? undefined : path,
      bodyType: bodyType === 'json' ? undefined : bodyType,
      allowSlowInput: read.allowSlowInput || undefined,
      timeout,
      ...{ input: undefined, inputSchema: undefined, output: undefined, outputSchema: undefined },
      ...schemas,
      ...limitsOf(read, refuse),
      ...upstreamOf(read, refuse),
    }),
  )
}
