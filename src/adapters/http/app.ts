/** The HTTP door: a map from exact paths to routes, and one way to say no. */
import Koa, { type Context } from 'koa'
import type { EndpointDef } from '../../domain/endpoint.js'
import { SvcError } from '../../domain/errors.js'
import type { Charge } from '../../ports/charge.js'
import type { Logger } from '../../ports/logger.js'
import { CORS_HEADERS, CORS_PREFLIGHT_HEADERS } from './cors.js'
import { paidRoute } from './paid-route.js'
import { errorBody, HttpRefusal } from './refusal.js'

export interface HttpOptions {
  readonly charge: Charge
  readonly endpoints: readonly EndpointDef[]
  /** Empty, or a path that begins with a slash and does not end with one. Endpoints live under it only. */
  readonly basePath: string
  readonly freeRoutes: readonly FreeRoute[]
  readonly bodyBytesMax: number
  readonly trustProxyHops: number
  readonly cors: boolean
  readonly logger: Logger
}

/** Answers without payment, at the root and under `basePath`. */
export interface FreeRoute {
  readonly path: string
  readonly method: 'GET' | 'POST'
  handle(ctx: Context): void | Promise<void>
}

type Route = (ctx: Context) => void | Promise<void>
type Methods = ReadonlyMap<string, Route>

export function httpApp(options: HttpOptions): Koa {
  const routes = routesOf(options)
  const app = new Koa()
  app.on('error', err => options.logger.warn({ err }, 'a response could not be written'))
  app.use(async ctx => {
    if (options.cors) ctx.set(CORS_HEADERS)
    try {
      await dispatch(ctx, routes, options)
    } catch (cause) {
      refuse(ctx, cause, options.logger)
    }
  })
  return app
}

/** Exact match only: another case, a trailing or doubled slash, an encoded letter are other paths, and there is none. */
function dispatch(ctx: Context, routes: ReadonlyMap<string, Methods>, options: HttpOptions) {
  const methods = routes.get(pathOf(ctx.req.url ?? ''))
  if (methods === undefined) throw new HttpRefusal(404, 'not_found', 'There is no such path here.')
  const route = methods.get(ctx.method)
  if (route !== undefined) return route(ctx)
  const allow = [...methods.keys(), 'OPTIONS'].join(', ')
  if (ctx.method !== 'OPTIONS') {
    throw new HttpRefusal(405, 'method_not_allowed', `This path answers ${allow}.`, { Allow: allow })
  }
  ctx.status = 204
  ctx.set('Allow', allow)
  if (options.cors) ctx.set({ ...CORS_PREFLIGHT_HEADERS, 'Access-Control-Allow-Methods': allow })
}

function pathOf(url: string): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

function routesOf(options: HttpOptions): ReadonlyMap<string, Methods> {
  const routes = new Map<string, Map<string, Route>>()
  const add = (path: string, method: string, route: Route) => {
    const methods = routes.get(path) ?? new Map<string, Route>()
    routes.set(path, methods.set(method, route))
  }
  for (const { path, method, handle } of options.freeRoutes) {
    for (const prefix of new Set(['', options.basePath])) {
      add(prefix + path, method, handle)
      if (method === 'GET') add(prefix + path, 'HEAD', handle)
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
    add(path, def.method, paidRoute(def, options))
  }
  return routes
}

function refuse(ctx: Context, cause: unknown, logger: Logger): void {
  if (cause instanceof HttpRefusal) {
    ctx.status = cause.status
    ctx.set(cause.headers)
    ctx.body = errorBody(cause.code, cause.message)
    return
  }
  logger.error({ err: cause }, 'a request broke the server’s own code')
  ctx.status = 500
  ctx.body = errorBody('internal_error', 'Something broke on our side.')
}
