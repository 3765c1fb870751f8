/** HTTP on Node: one Koa app. `serve` listens with it, and `createServer` returns it for mounting. */
import Router from '@koa/router'
import Koa, { type Context, type Middleware } from 'koa'
import type { BodyHolder } from './body-left-by-middleware.js'
import { sharedHeaders } from './cors.js'
import { HttpError, replyToError } from './error-to-reply.js'
import { closeWithSocket } from './pipelined-responses.js'
import { skipBody } from './read-body.js'
import type { Reply } from './reply.js'
import { freeRoutesByPath, type HttpOptions, type Methods, otherMethod, paidRoutes } from './route-table.js'
import type { Route } from './route-types.js'
import { turns } from './turns.js'
import { responder } from './write-reply.js'

/** Paths match exactly: another case, a trailing or doubled slash, or an encoded letter makes another path. */
const EXACT = { sensitive: true, strict: true }

/** Node's codes for a connection that its caller ended. */
const HANG_UPS: ReadonlySet<unknown> = new Set([
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ERR_STREAM_PREMATURE_CLOSE',
])

export function koaApp(options: HttpOptions): Koa {
  const { logger } = options
  const shared = sharedHeaders(options.cors)
  const free = freeRoutesByPath(options)
  const paid = paidRoutes(options, free)

  const app = new Koa()
  app.on('error', err => {
    // A caller can reset as many connections as it likes, and would fill the log.
    const level = HANG_UPS.has(err?.code) ? 'debug' : 'warn'
    logger[level]({ err }, 'a response could not be written')
  })
  const isOutermost = (ctx: Context) => ctx.app === app && app.middleware[0] === paidEndpoints
  const respond = responder(isOutermost, logger)
  const turnEnd = turns()

  async function answer(ctx: Context, route: Route): Promise<void> {
    const { req, res, request } = ctx
    closeWithSocket(res)
    let reply: Reply
    try {
      reply = await route.handle({ req, res, mountedAt: prefixOf(ctx), holder: request as BodyHolder })
    } catch (cause) {
      reply = replyToError(cause, logger)
    }
    skipBody(req)
    const end = turnEnd()
    if (end !== undefined) await end
    const { headers } = route
    respond(ctx, headers.length === 0 ? reply : { ...reply, headers: [...headers, ...reply.headers] })
  }
  const otherwise = (methods: Methods): Route => ({
    headers: shared,
    handle: ({ req }) => otherMethod(req.method!, methods, options.cors),
  })

  /** One look-up, so that a thousand endpoints cost the same as one: a router tests each route in turn. */
  const paidEndpoints: Middleware = (ctx, next) => {
    const methods = paid.get(pathOf(ctx.req.url!))
    return methods ? answer(ctx, methods.get(ctx.req.method!) ?? otherwise(methods)) : next()
  }
  const router = new Router(EXACT)
  for (const [path, methods] of free) {
    for (const [method, route] of methods) router.register(path, [method], ctx => answer(ctx, route))
    router.all(path, ctx => answer(ctx, otherwise(methods)))
  }
  const routed = router.routes() as Middleware
  /** Compares the path as it was sent. Koa's `ctx.path` turns `\` into `/` and cuts at `#`. It throws for a malformed URL. */
  const freePaths: Middleware = (ctx, next) => (free.has(pathOf(ctx.req.url!)) ? routed(ctx, next) : next())
  /** Answers unknown paths. Where another app mounts this one, that app answers them. */
  const notFound: Middleware = async (ctx, next) => {
    await next()
    const isAnswered = ctx.status !== 404 || ctx.body !== undefined || ctx.headerSent || ctx.respond === false
    if (ctx.app !== app || isAnswered) return
    await answer(ctx, { headers: shared, handle: noSuchPath })
  }
  app.use(paidEndpoints)
  app.use(freePaths)
  app.use(notFound)
  return app
}

function noSuchPath(): never {
  throw new HttpError(404, 'not_found', 'There is no such path here.')
}

function pathOf(url: string): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

/** Routes match `url` exactly, so the mounting app decides what stands before it, not the caller. */
function prefixOf({ req, originalUrl, url }: Context): string {
  // Express shortens the request's own URL before Koa sees it, and keeps the whole URL beside it.
  const { originalUrl: whole = originalUrl } = req as { originalUrl?: string }
  const prefix = whole.endsWith(url) ? whole.slice(0, -url.length) : ''
  // Any other prefix would change the host of the origin that it is appended to.
  return prefix.startsWith('/') ? prefix : ''
}
