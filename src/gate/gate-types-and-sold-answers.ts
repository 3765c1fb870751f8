/**
 * What a gate is: its terms, its middleware for each framework, and which answers it sells. No framework is imported: a gate
 * looks at little of each.
 */
import { isAscii } from 'node:buffer'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { toUSVString } from 'node:util'
import type { Koa } from '../adapters/http/koa-request.js'
import type { Reply } from '../adapters/http/reply.js'
import { bodyIn, handToKoa, takeHeaders } from '../adapters/http/write-node-response.js'
import { NoAnswer, renderHead, renderResponse } from '../app/charge/render-answer.js'
import { COLLECTED_BYTES_MAX, renderStream } from '../app/charge/stream-from-handler.js'
import type { ShutdownReport } from '../app/server/drain.js'
import type { BodyType } from '../domain/body-type.js'
import type { EndpointOptions } from '../domain/endpoint.js'
import type { EndpointSchema } from '../domain/endpoint-schemas.js'
import { type Answer, ForwardedAnswer, type HandlerContext } from '../domain/handler.js'
import { type HeldAnswer, HeldResponse, NotHeld, WROTE_PAST } from './hold-node-response.js'

/**
 * What a route of an app costs: the options of {@link defineEndpoint} without a handler. `path` and `methods` are the route's
 * own: with both, the route is in the documents from the start, else from its first request. `bodyType` is `bytes`, unless it or `input` is given:
 * whatever it is, the route reads the body itself.
 */
export interface GateTerms
  extends Omit<EndpointOptions<EndpointSchema, BodyType>, 'name' | 'handler' | 'upstream'> {
  /** Its name for discovery. @default the method and the path */
  readonly name?: string
}

/** Express's requests and responses, as far as a gate looks. */
export interface ExpressRequest extends IncomingMessage {
  readonly baseUrl?: string
  readonly originalUrl?: string
  readonly route?: { readonly path?: unknown; readonly methods?: object }
  svc?: HandlerContext
}
const heard = new WeakSet<object>()

/** What a route of Express throws passes behind its own handlers, and before the app's handlers of errors. */
export function hearThrown(route: ExpressRequest['route']): void {
  if (route === undefined || heard.has(route)) return
  heard.add(route)
  for (const method of Object.keys(route.methods ?? {}))
    Reflect.get(route, method.replace('_', '')).call(route, threw)
}

function threw(cause: unknown, _req: unknown, res: object, next: (cause: unknown) => void): void {
  HeldResponse.threw(res, cause)
  next(cause)
}

/** Hono's context, as far as a gate looks. */
export interface HonoContext {
  readonly req: { raw: Request; readonly routePath?: string; arrayBuffer(): Promise<ArrayBuffer> }
  res: Response | undefined
  /** What the route threw, and the app has answered. */
  readonly error?: unknown
  get(key: 'svc'): unknown
  set(key: 'svc', value: HandlerContext): void
}

/** Fastify's request and reply, as far as a gate looks. */
export interface FastifyRequest {
  readonly raw: IncomingMessage
  readonly body: unknown
  readonly routeOptions: { readonly url?: string | undefined }
}

/** Middleware that prices routes of an app, one for each framework. Its functions need no `this`. */
export interface Gate {
  /** `app.get('/items/:id', gate.express(terms), handler)`. The route finds the payment in `req.svc`. */
  express(terms: GateTerms): (req: ExpressRequest, res: ServerResponse, next: (cause?: Error) => void) => void
  /** `router.get('/items/:id', gate.koa(terms), handler)`. The route finds the payment in `ctx.state.svc`. */
  koa(terms: GateTerms): Koa.Middleware
  /** `app.get('/items/:id', gate.hono(terms), handler)`. The route finds the payment in `c.get('svc')`. */
  // biome-ignore lint/suspicious/noExplicitAny: Hono's own type has parameters that only the app knows.
  hono(terms: GateTerms): (c: any, next: () => Promise<void>) => Promise<void>
  /** `app.get('/items/:id', gate.fastify(terms), handler)`. The route finds the payment in `request.raw.svc`. */
  fastify(terms: GateTerms): {
    /** Fastify's hook of this name. */
    preHandler: (
      request: FastifyRequest,
      reply: { readonly raw: ServerResponse; getHeaders(): object },
      done: (cause?: Error) => void,
    ) => void
    /** Fastify's hook of this name: what the route throws costs nothing, whatever the app answers. */
    onError: (
      request: FastifyRequest,
      reply: { readonly raw: ServerResponse },
      cause: Error,
      done: () => void,
    ) => void
  }
  /** Prices a function of the web's own requests. `terms.path` is needed. The function gets the payment, too. */
  fetch<Rest extends unknown[]>(
    terms: GateTerms & { readonly path: string },
    handler: (request: Request, svc: HandlerContext, ...rest: Rest) => Response | Promise<Response>,
  ): (request: Request, ...rest: Rest) => Promise<Response>
  /** The manifest and the other free routes, for the root of the app; unknown paths are left to it. */
  readonly documents: {
    /** `app.use(gate.documents.express)`. */
    express(req: IncomingMessage, res: ServerResponse, next: () => void): void
    /** `app.use(gate.documents.koa)`. */
    readonly koa: Koa.Middleware
    /** `app.use(gate.documents.hono)`. */
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    hono(c: any, next: () => Promise<void>): Promise<Response | undefined>
    /** A hook: `app.addHook('onRequest', gate.documents.fastify)`. */
    fastify(
      request: Pick<FastifyRequest, 'raw'>,
      reply: { readonly raw: ServerResponse; hijack(): unknown },
      done: (cause?: Error) => void,
    ): void
    /** Answers unknown paths with 404. */
    fetch(request: Request): Promise<Response>
  }
  /** As {@link AgentHandler.shutdown}. */
  shutdown(reason?: string): Promise<ShutdownReport>
}

/** A context of Koa: what its route leaves there is held, and what the gate answers takes its place. */
export function heldContext(ctx: Koa.Context) {
  const { res } = ctx
  /** The headers that stood when the route began, as long as it is at work. */
  let before: OutgoingHttpHeaders | undefined
  let isAnswered = false
  return {
    res,
    isSent: () => res.headersSent,
    async answerOf(next: () => Promise<unknown>): Promise<HeldAnswer> {
      const stood = res.getHeaders()
      before = stood
      try {
        await next()
      } catch (cause) {
        ctx.app.emit('error', cause, ctx)
        throw cause
      } finally {
        before = undefined
      }
      if (ctx.respond !== false && !res.headersSent)
        return { status: ctx.status, headers: takeHeaders(res, stood), body: bodyIn(ctx) }
      if (!isAnswered) res.destroy()
      throw new NotHeld(WROTE_PAST)
    },
    send(reply: Reply): void {
      isAnswered = true
      if (before === undefined) return void handToKoa(ctx, reply)
      // At once: what the route puts into its context later would be sent, while middleware around the gate waits.
      takeHeaders(res, before)
      ctx.respond = false
      new HeldResponse(res, false).send(reply)
    },
  }
}

/** A second gate would take a second price from the balance of a buyer who agreed to the first. */
export function refuseSecond(isGated: unknown): void {
  if (isGated) throw new NotHeld('a route is behind two gates, and has one price')
}

export function held({ status, headers, body }: HeldAnswer, redirects?: boolean): ForwardedAnswer {
  return soldAs({ status, ...renderHead(headers) }, body, redirects)
}

/** A body that comes in pieces is read as a stream that a handler returned. */
function soldAs(head: Omit<Answer, 'body'>, body: HeldAnswer['body'], redirects?: boolean): ForwardedAnswer {
  refuseUnsold(head, redirects)
  if (body instanceof Readable) return new ForwardedAnswer({ body: '', ...head }, renderStream(body)!.source)
  if (Buffer.byteLength(body) > COLLECTED_BYTES_MAX)
    throw new NoAnswer(`more than the ${COLLECTED_BYTES_MAX} bytes that are held`)
  // Node sends a text and its head in one write.
  if (typeof body === 'string') return new ForwardedAnswer({ body: toUSVString(body), ...head })
  const bytes = Buffer.from(body)
  return new ForwardedAnswer({ body: isAscii(bytes) ? bytes.toString('latin1') : bytes, ...head })
}

export function refuseUnsold({ status }: Pick<Answer, 'status'>, redirects?: boolean): void {
  if (status === 206 || status === 304) throw new NoAnswer(`${status}, which nobody asked for`)
  // Such as the way to an app's login. Clients follow none with a payment.
  if (status >= 300 && status < 400 && !redirects)
    throw new NoAnswer(`${status}, which \`sellRedirects: true\` in its terms would sell`)
}

export async function whole(answer: Response, redirects?: boolean): Promise<ForwardedAnswer> {
  const { body, ...head } = await renderResponse(answer)
  return soldAs(head, body, redirects)
}
