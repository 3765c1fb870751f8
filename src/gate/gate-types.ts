/** What a gate is: its terms, and its middleware for each framework. No framework is imported: a gate looks at little of each. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Koa } from '../adapters/http/koa-request.js'
import type { ShutdownReport } from '../app/server/drain.js'
import type { BodyType } from '../domain/body-type.js'
import type { EndpointOptions } from '../domain/endpoint.js'
import type { EndpointSchema } from '../domain/endpoint-schemas.js'
import type { HandlerContext } from '../domain/handler.js'

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

// What a route of Express or Fastify sells: `req.svc`, `request.raw.svc`.
declare module 'node:http' {
  interface IncomingMessage {
    svc?: HandlerContext
  }
}

/** Express's requests and responses, as far as a gate looks. */
export interface ExpressRequest extends IncomingMessage {
  readonly baseUrl?: string
  readonly originalUrl?: string
  readonly route?: { readonly path?: unknown }
}

/** Hono's context, as far as a gate looks. */
export interface HonoContext {
  readonly req: { raw: Request; readonly routePath?: string; arrayBuffer(): Promise<ArrayBuffer> }
  res: Response | undefined
  /** What the route threw, and the app has answered. */
  readonly error?: unknown
  readonly finalized: boolean
  get(key: 'svc'): unknown
  set(key: 'svc', value: HandlerContext): void
}

/** Fastify's request and reply, as far as a gate looks. */
export interface FastifyRequest {
  readonly raw: IncomingMessage
  readonly routeOptions: { readonly url?: string | undefined }
}

/** Fastify's reply, as far as a gate looks. */
export interface FastifyReply {
  readonly raw: ServerResponse
  getHeaders(): object
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
  /**
   * `app.get('/items/:id', gate.fastify(terms, handler))`: a handler, which no option of the route replaces, and which runs behind all
   * hooks of the app. The route finds the payment in `request.raw.svc`.
   *
   * @typeParam Run the type that Fastify gives the handler
   */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  fastify<Run extends (this: any, request: any, reply: any) => unknown>(terms: GateTerms, handler: Run): Run
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
