/**
 * The gate: middleware that puts a price before a route of an app. The route's own answer is what is sold: it is held, recorded,
 * settled, and then sent with its receipt, by the same charge as an endpoint's handler.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { ServerResponse } from 'node:http'
import { type ClientAddress, FetchRequest, targetOf } from '../adapters/http/fetch-request.js'
import { NodeRequest } from '../adapters/http/koa-request.js'
import type { HostRequest, Route } from '../adapters/http/route.js'
import { pathOf, type RouteTable } from '../adapters/http/route-table.js'
import type { HandlerParts } from '../app/server/create-handler.js'
import type { Settings } from '../app/server/options/server-settings.js'
import { refuseDuplicates } from '../domain/agent.js'
import type { EndpointDef } from '../domain/endpoint.js'
import { SvcError } from '../domain/errors.js'
import type { Handler, HandlerContext } from '../domain/handler.js'
import { METHODS, type Method, routeName } from '../domain/path-pattern.js'
import { BALANCE_KEY_HEADER } from '../domain/x402.js'
import type {
  ExpressRequest,
  FastifyReply,
  FastifyRequest,
  Gate,
  GateTerms,
  HonoContext,
} from './gate-types.js'
import { givenTo, hearErrors } from './hear-errors.js'
import { HeldResponse, NotHeld } from './hold-node-response.js'
import { held, heldContext, refuseSecond, refuseUnsold, whole } from './sold-answers.js'

type Named = (
  terms: Omit<GateTerms, 'name'> & { readonly name: string; readonly handler: Handler },
) => EndpointDef

/** @param endpoints the agent's own list, to which each route is added */
export function gateOver(
  parts: HandlerParts,
  { clientAddress, logger }: Settings,
  endpoints: EndpointDef[],
  define: Named,
): Gate {
  function defined(terms: GateTerms, path: string, methods: readonly Method[]): EndpointDef {
    const name = terms.name ?? routeName([methods[0]!], path)
    const bodyType =
      terms.bodyType ?? (terms.input === undefined && methods.some(each => each !== 'GET') ? 'bytes' : 'json')
    const { method: _, ...rest } = terms
    return define({ ...rest, name, path, methods, bodyType, handler: notHere })
  }

  function register(def: EndpointDef): RouteTable {
    refuseDuplicates([...endpoints, def])
    endpoints.push(def)
    return parts.sell(def)
  }

  /** Finds the route of a request. Without a path of its own the middleware learns it from the framework, once for each route. */
  function pricing(terms: GateTerms) {
    const methods = [terms.methods ?? terms.method ?? []].flat()
    // Also where the framework will say the rest: a mistake in the terms is the app's start's, and not its first caller's.
    const checked = defined(terms, terms.path ?? '/route', methods.length > 0 ? methods : ['POST'])
    const own = terms.path && methods.length > 0 ? register(checked) : undefined
    const learned = new Map<string, RouteTable>()
    /** @param seen the path that the framework says, where it does */
    return ({ method, target }: Pick<HostRequest, 'method' | 'target'>, seen?: unknown): Route =>
      (own ?? learnedTable(method, terms.path ?? seen)).findAlone(method, pathOf(target))

    function learnedTable(method: string, path: unknown): RouteTable {
      if (typeof path !== 'string')
        throw wrong('This gate cannot see the path of its route: give `path` in its terms')
      const of = methods.length > 0 ? methods : [METHODS.find(each => each === method) ?? 'GET']
      const route = `${of[0]} ${path}`
      const known = learned.get(route) ?? register(defined(terms, path, of))
      learned.set(route, known)
      return known
    }
  }

  /** Middleware before a route that writes to Node's response. */
  function overNode({ stream = false, sellRedirects, ...terms }: GateTerms) {
    const routeOf = pricing({ ...terms, stream })
    return (
      req: ExpressRequest,
      res: ServerResponse,
      next: (cause?: Error) => void,
      { target, holder, seen }: { readonly target: string; readonly holder: object; readonly seen: unknown },
    ): void => {
      try {
        const response = new HeldResponse(res, stream)
        const handler: Handler = svc => {
          refuseSecond(req.svc)
          req.svc = svc
          const answer = response.begin()
          next()
          return answer.then(each => held(response.unlessThrown(each), sellRedirects))
        }
        const request = new NodeRequest(req, res, { handler, stream, target, holder })
        parts.host.answerNode(response, routeOf(request, seen), request).catch(next)
      } catch (cause) {
        logger.error({ err: cause }, 'a gate cannot price its route')
        next(cause as Error)
      }
    }
  }

  /** Middleware before a route that answers with the web's responses. */
  function overFetch({ stream = false, sellRedirects, ...terms }: GateTerms) {
    const routeOf = pricing({ ...terms, stream })
    return (
      incoming: Request,
      address: ClientAddress | undefined,
      run: (svc: HandlerContext, request: FetchRequest) => Response | Promise<Response>,
      seen?: unknown,
    ): Promise<Response> => {
      const handler: Handler = async svc => {
        const { [BALANCE_KEY_HEADER]: key } = request.headers as Record<string, string | undefined>
        refuseSecond(key !== undefined && key === paying.getStore())
        const answer = await (key === undefined ? run(svc, request) : paying.run(key, run, svc, request))
        refuseUnsold(answer, sellRedirects)
        return stream ? answer : whole(answer, sellRedirects)
      }
      const request = new FetchRequest(incoming, address, { handler, stream })
      return parts.answerFetch(routeOf(request, seen), request)
    }
  }

  return {
    express(terms) {
      const answer = overNode(terms)
      return (req, res, next) => {
        const { baseUrl, originalUrl: target = req.url!, route } = req
        hearErrors(req)
        // Below a router, a part of the path may be a parameter of the router's.
        answer(req, res, next, { target, holder: req, seen: baseUrl ? undefined : route?.path })
      }
    },
    fastify(terms, route) {
      if (typeof route !== 'function')
        throw wrong('gate.fastify(terms, handler) needs the handler of its route')
      const answer = overNode(terms)
      return function (this: unknown, holder: FastifyRequest, reply: FastifyReply) {
        const { raw, routeOptions } = holder
        for (const [name, value] of corsIn(reply.getHeaders())) reply.raw.setHeader(name, value)
        const asked = { target: raw.url!, holder, seen: routeOptions.url }
        return givenTo(reply, route.bind(this, holder, reply), next => answer(raw, reply.raw, next, asked))
      } as typeof route
    },
    koa({ stream = false, sellRedirects, ...terms }) {
      const routeOf = pricing({ ...terms, stream })
      return async (ctx, next) => {
        const { req, res, originalUrl: target, request: holder } = ctx
        const context = heldContext(ctx, stream)
        const handler: Handler = async svc => {
          refuseSecond(ctx.state.svc)
          ctx.state.svc = svc
          return held(await context.answerOf(next), sellRedirects)
        }
        const request = new NodeRequest(req, res, { handler, stream, target, holder })
        await parts.host.answerNode(context, routeOf(request, Reflect.get(ctx, '_matchedRoute')), request)
      }
    },
    hono(terms) {
      const answer = overFetch(terms)
      return async (c: HonoContext, next) => {
        const { raw, routePath: seen } = c.req
        let isAnswered = false
        const unread = raw.bodyUsed ? await readBefore(c) : raw
        const run = async (svc: HandlerContext, request: FetchRequest) => {
          refuseSecond(c.get('svc'))
          c.set('svc', svc)
          Object.defineProperty(Object.assign(c.req, { [GATED]: request }), 'raw', RAW)
          await next()
          // Too late: the context has what the gate answered.
          if (isAnswered) return new Response()
          // Hono would fail. To ask for the response would make one of status 200.
          if (!c.finalized) throw new NotHeld('a route returned no Response')
          const response = c.res!
          c.res = undefined
          // Hono merges what is set before into what the gate answers.
          const cors = corsIn(Object.fromEntries(response.headers))
          if (cors.length > 0) c.res = new Response(null, { headers: cors })
          if (c.error && response.status < 400) throw c.error
          return response
        }
        c.res = await answer(unread, () => clientAddress?.(raw), run, seen)
        isAnswered = true
      }
    },
    fetch(terms, handler) {
      if (!terms.path || typeof handler !== 'function')
        throw wrong('gate.fetch(terms, handler) needs the path of its route in the terms, and its handler')
      const answer = overFetch(terms)
      return async (incoming, ...rest) =>
        answer(incoming, clientAddress, (svc, { forApp }) => handler(forApp, svc, ...rest))
    },
    documents: {
      express: parts.node,
      koa: parts.koa(),
      async hono(c, next) {
        const { raw } = (c as HonoContext).req
        if (parts.isKnown(pathOf(targetOf(raw)))) return parts.fetch(raw)
        await next()
        return undefined
      },
      fastify({ raw }, reply, done) {
        if (!parts.isKnown(pathOf(raw.url!))) return done()
        reply.hijack()
        parts.node(raw, reply.raw)
      },
      fetch: parts.fetch,
    },
    shutdown: reason => parts.shutdown(reason),
  }
}

/** The balance that pays for the call at work: a route may hand a copy of its request to a second gate. */
const paying = new AsyncLocalStorage<string>()
const GATED = Symbol('gated')
const wrong = (why: string) => new SvcError(why, 'invalid_endpoint')
/** Made when the route asks for it. One descriptor for all: a getter of each request would give each its own shape. */
const RAW: PropertyDescriptor & ThisType<{ [GATED]: FetchRequest }> = {
  get() {
    return this[GATED].forApp
  },
  configurable: true,
}

/** For a body that other middleware has read: Hono kept it. */
async function readBefore({ req }: HonoContext): Promise<Request> {
  const { url, method, headers, signal } = req.raw
  return new Request(url, { method, headers, signal, body: await req.arrayBuffer() })
}

const corsIn = (headers: object) =>
  Object.entries(headers).filter(([name]) => name.startsWith('access-control-'))

/** Its requests bring the route that they came to. */
const notHere: Handler = () => {
  throw new Error('a route of a gate is called at its own URL')
}
