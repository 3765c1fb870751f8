/** Every path that is answered, in one map: exact match only. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { EndpointDef } from '../../domain/endpoint.js'
import { SvcError } from '../../domain/errors.js'
import type { Charge } from '../../ports/charge.js'
import type { Logger } from '../../ports/logger.js'
import { skipBody } from './body.js'
import type { BodyBudget } from './body-budget.js'
import { CORS_HEADERS, CORS_PREFLIGHT_HEADERS } from './cors.js'
import type { BodyHolder } from './left-body.js'
import { paidRoute } from './paid-route.js'
import { HttpRefusal, refusalOf } from './refusal.js'
import type { Reply } from './reply.js'

export interface HttpOptions {
  readonly charge: Charge
  readonly endpoints: readonly EndpointDef[]
  /** Empty, or a path that begins with a slash and does not end with one. Endpoints live under it only. */
  readonly basePath: string
  readonly freeRoutes: readonly FreeRoute[]
  readonly bodyBytesMax: number
  readonly bodies: BodyBudget
  readonly trustProxyHops: number
  readonly idempotency: boolean
  readonly cors: boolean
  readonly logger: Logger
}

/** A request as Node has read its head. */
export interface Incoming {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** Where another app has mounted us; empty where none has. */
  readonly mountedAt: string
  /** Where that app's parser leaves a body that it read, beside the request itself. */
  readonly holder?: BodyHolder
}

export interface Route {
  /** What each of its answers says, refusals too: names and values in turn. */
  readonly headers: readonly string[]
  handle(incoming: Incoming): Reply | Promise<Reply>
}

/** Answers without payment, at the root and under `basePath`. */
export interface FreeRoute extends Route {
  readonly path: string
  readonly method: 'GET' | 'POST'
  /** For pages of this origin only. @default false */
  readonly sameOrigin?: boolean
}

/** Where a free route answers. */
export function pathsOf({ path }: FreeRoute, basePath: string): readonly string[] {
  return [...new Set(['', basePath])].map(prefix => prefix + path)
}

type Methods = ReadonlyMap<string, Route>

/** Answers every request, also one that nobody asked for, and never rejects. */
export type Answer = (incoming: Incoming) => Promise<Reply>

export function answering(options: HttpOptions): Answer {
  const routes = routesOf(options)
  const shared = options.cors ? CORS_HEADERS : []
  return async incoming => {
    const methods = routes.get(pathOf(incoming.req.url!))
    const route = methods?.get(incoming.req.method!)
    const headers = route?.headers ?? shared
    let reply: Reply
    try {
      reply = await (route ? route.handle(incoming) : unrouted(incoming.req, methods, options.cors))
    } catch (cause) {
      reply = refusalOf(cause, options.logger)
    }
    skipBody(incoming.req)
    return headers.length === 0 ? reply : { ...reply, headers: [...headers, ...reply.headers] }
  }
}

/** Another case, a trailing or doubled slash, an encoded letter are other paths, and there is none. */
function unrouted({ method }: IncomingMessage, methods: Methods | undefined, cors: boolean): Reply {
  if (methods === undefined) throw new HttpRefusal(404, 'not_found', 'There is no such path here.')
  const allow = [...methods.keys(), 'OPTIONS'].join(', ')
  if (method !== 'OPTIONS') {
    throw new HttpRefusal(405, 'method_not_allowed', `This path answers ${allow}.`, ['Allow', allow])
  }
  const preflight = cors ? [...CORS_PREFLIGHT_HEADERS, 'Access-Control-Allow-Methods', allow] : []
  return { status: 204, headers: ['Allow', allow, ...preflight] }
}

function pathOf(url: string): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

function routesOf(options: HttpOptions): ReadonlyMap<string, Methods> {
  const shared = options.cors ? CORS_HEADERS : []
  const routes = new Map<string, Map<string, Route>>()
  const add = (path: string, method: string, route: Route) => {
    const methods = routes.get(path) ?? new Map<string, Route>()
    routes.set(path, methods.set(method, route))
  }
  for (const free of options.freeRoutes) {
    const { method, sameOrigin = false } = free
    const route = sameOrigin ? free : { ...free, headers: shared.concat(free.headers) }
    for (const at of pathsOf(free, options.basePath)) {
      add(at, method, route)
      if (method === 'GET') add(at, 'HEAD', route)
    }
  }
  // HEAD is not a GET here: it would run a handler, or promise one, for an answer that is thrown away.
  for (const def of options.endpoints) {
    const path = `${options.basePath}/${def.name}`
    if (routes.has(path)) {
      throw new SvcError(
        `Endpoint '${def.name}' would be at ${path}, which is a free route`,
        'invalid_options',
      )
    }
    const { headers, handle } = paidRoute(def, options)
    add(path, def.method, { handle, headers: shared.concat(headers) })
  }
  return routes
}
