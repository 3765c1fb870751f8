/**
 * The gate: middleware that puts a price before a route of an app. The route's own answer is what is sold: it is held, recorded,
 * settled, and then sent with its receipt, by the same charge as an endpoint's handler.
 */
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { targetOf } from '../../adapters/http/fetch-request.js'
import { GatedFetchRequest, GatedKoaRequest, originalUrlOf } from '../../adapters/http/gated-request.js'
import { answerIn, type HeldAnswer, hold } from '../../adapters/http/held-response.js'
import type { Route } from '../../adapters/http/route.js'
import { HttpError } from '../../adapters/http/route.js'
import { pathOf, type RouteTable } from '../../adapters/http/route-table.js'
import { refuseDuplicates } from '../../domain/agent.js'
import type { EndpointDef } from '../../domain/endpoint.js'
import { SvcError } from '../../domain/errors.js'
import { type Answer, ForwardedAnswer } from '../../domain/handler-answer.js'
import type { Handler } from '../../domain/handler-context.js'
import { METHODS, type Method } from '../../domain/path-pattern.js'
import { headersOfResponse, NoAnswer, renderHead } from '../charge/render-answer.js'
import { COLLECTED_BYTES_MAX, renderStream } from '../charge/render-stream.js'
import type { HandlerParts } from './create-handler.js'
import type { ExpressRequest, Gate, GateTerms, HonoContext } from './gate.js'
import type { Settings } from './settings-from-options.js'

type Next = (cause?: Error) => void

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
  function register(terms: GateTerms, path: string, methods: readonly Method[]): RouteTable {
    const name = terms.name ?? nameOf(methods[0]!, path)
    const bodyType =
      terms.bodyType ?? (terms.input === undefined && methods.some(each => each !== 'GET') ? 'bytes' : 'json')
    const { method: _, ...rest } = terms
    const def = define({ ...rest, name, path, methods, bodyType, stream: true, handler: notHere })
    refuseDuplicates([...endpoints, def], (why, code) => {
      throw new SvcError(why, code)
    })
    endpoints.push(def)
    return parts.sell(def)
  }

  /** Finds the route of a request. Without a path of its own the middleware learns it from the framework, once for each route. */
  function pricing(terms: GateTerms) {
    const methods = [terms.methods ?? terms.method ?? []].flat()
    const isWhole = terms.path !== undefined && methods.length > 0
    const own = isWhole ? register(terms, terms.path!, methods) : undefined
    const learned = new Map<string, RouteTable>()
    return (method: string, target: string, seen: unknown): Route => {
      const table = own ?? learnedTable(method, terms.path ?? seen)
      const path = pathOf(target)
      return table.find(method, path) ?? unmatched(path)
    }

    function learnedTable(method: string, path: unknown): RouteTable {
      if (typeof path !== 'string')
        throw new SvcError(
          'This gate cannot see the path of its route: give `path` in its terms',
          'invalid_endpoint',
        )
      const of = methods.length > 0 ? methods : [METHODS.find(each => each === method) ?? 'GET']
      const route = `${of[0]} ${path}`
      const known = learned.get(route) ?? register(terms, path, of)
      learned.set(route, known)
      return known
    }
  }

  function overNode(
    terms: GateTerms,
    route: Route,
    req: ExpressRequest,
    res: ServerResponse,
    next: Next,
  ): void {
    const { real, begin } = hold(res, terms.stream === true)
    const handler: Handler = svc => {
      req.svc = svc
      const answer = begin()
      next()
      return answer.then(held)
    }
    parts.host.answerNode(req, real, route, ctx => new GatedKoaRequest(ctx, handler, terms.stream))
  }

  return {
    express(terms) {
      const routeOf = pricing(terms)
      return (req, res, next) => {
        // Below a router, a part of the path may be a parameter of the router's.
        const seen = req.baseUrl ? undefined : req.route?.path
        attempt(next, () => overNode(terms, routeOf(req.method!, originalUrlOf(req), seen), req, res, next))
      }
    },
    fastify(terms) {
      const routeOf = pricing(terms)
      return {
        preHandler({ raw: req, body, routeOptions }, { raw: res }, done) {
          // Where Fastify's parsers leave a body is Fastify's own; elsewhere it is the request's.
          Object.assign(req, { body })
          attempt(done, () =>
            overNode(terms, routeOf(req.method!, req.url!, routeOptions.url), req, res, done),
          )
        },
      }
    },
    koa(terms) {
      const routeOf = pricing(terms)
      return async (ctx, next) => {
        const { _matchedRoute: seen } = ctx as { _matchedRoute?: unknown }
        const route = routeOf(ctx.method, ctx.originalUrl, seen)
        const handler: Handler = async svc => {
          ctx.state.svc = svc
          const before = ctx.res.getHeaders()
          try {
            await next()
          } catch (cause) {
            ctx.app.emit('error', cause, ctx)
            throw cause
          }
          return held(answerIn(ctx, before))
        }
        await parts.host.answer(ctx, route, new GatedKoaRequest(ctx, handler, terms.stream))
      }
    },
    hono(terms) {
      const routeOf = pricing(terms)
      return async (c: HonoContext, next) => {
        const { raw } = c.req
        const route = routeOf(raw.method, targetOf(raw), c.req.routePath)
        const handler: Handler = async svc => {
          c.set('svc', svc)
          // Made when the route asks for it.
          Object.defineProperty(c.req, 'raw', { get: () => request.forApp, configurable: true })
          await next()
          const answer = c.res!
          c.res = undefined
          return terms.stream ? answer : whole(answer)
        }
        const unread = raw.bodyUsed ? await readBefore(c) : raw
        const request = new GatedFetchRequest(unread, () => clientAddress?.(raw), handler, terms.stream)
        c.res = await parts.answerFetch(route, request)
      }
    },
    fetch(terms, handler) {
      const routeOf = pricing(terms)
      return async (incoming, ...rest) => {
        const run: Handler = async svc => {
          const answer = await handler(request.forApp, svc, ...rest)
          return terms.stream ? answer : whole(answer)
        }
        const request = new GatedFetchRequest(incoming, clientAddress, run, terms.stream)
        return parts.answerFetch(routeOf(incoming.method, targetOf(incoming), undefined), request)
      }
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

  function attempt(next: Next, run: () => void): void {
    try {
      run()
    } catch (cause) {
      logger.error({ err: cause }, 'a gate cannot price its route')
      next(cause as Error)
    }
  }
}

function held({ status, headers, body }: HeldAnswer): ForwardedAnswer {
  return soldAs({ status, ...renderHead(headers) }, body)
}

/** A body that comes in pieces is read as a stream that a handler returned. */
function soldAs(head: Omit<Answer, 'body'>, body: HeldAnswer['body']): ForwardedAnswer {
  if (body instanceof Readable) return new ForwardedAnswer({ ...head, body: '' }, renderStream(body)!.source)
  if (body.length <= COLLECTED_BYTES_MAX) return new ForwardedAnswer({ ...head, body })
  throw new NoAnswer(`more than the ${COLLECTED_BYTES_MAX} bytes that are held`)
}

async function whole(answer: Response): Promise<ForwardedAnswer> {
  const head = { status: answer.status, ...headersOfResponse(answer) }
  return soldAs(head, new Uint8Array(await answer.arrayBuffer()))
}

/** Other middleware has read it, and Hono kept it. */
async function readBefore({ req }: HonoContext): Promise<Request> {
  const { url, method, headers, signal } = req.raw
  return new Request(url, { method, headers, signal, body: await req.arrayBuffer() })
}

function unmatched(path: string): Route {
  const why = `The path ${path} is another spelling of its route: write it as the manifest does. You were not charged.`
  return { headers: [], handle: () => Promise.reject(new HttpError(400, 'invalid_path', why)) }
}

/** Such as `get/items/id`. */
function nameOf(method: string, path: string): string {
  const words = `${method}${path}`.toLowerCase().replace(/[^a-z0-9/]+/g, '-')
  return words.replace(/\/-/g, '/').replace(/\/+$/, '')
}

/** Its requests bring the route that they came to. */
const notHere: Handler = () => {
  throw new Error('a route of a gate is called at its own URL')
}
