/** HTTP on Node: one Koa app. `serve` listens with it, and `createServer` returns it for mounting. */
import Router from '@koa/router'
import Koa, { type Context, type Middleware } from 'koa'
import type { Logger } from '../../ports/logger.js'
import { NodeRequest } from './node-request.js'
import { closeWithSocket } from './pipelined-responses.js'
import { pathOf, type RouteTable, replyOf } from './route-table.js'
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

export interface KoaHost {
  /** The whole app: it answers unknown paths too, unless another app mounts it. */
  readonly app: Koa
  /** The same routes for another Koa app: unknown paths are left to `next`. */
  readonly middleware: Middleware
}

export function koaHost(table: RouteTable, logger: Logger): KoaHost {
  const { paid, free } = table
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
    closeWithSocket(ctx.res)
    const reply = await replyOf(route, new NodeRequest(ctx), logger)
    const end = turnEnd()
    if (end !== undefined) await end
    respond(ctx, reply)
  }

  /** One look-up, so that a thousand endpoints cost the same as one: a router tests each route in turn. */
  const paidEndpoints: Middleware = (ctx, next) => {
    const methods = paid.get(pathOf(ctx.req.url!))
    return methods ? answer(ctx, methods.get(ctx.req.method!) ?? table.otherMethods(methods)) : next()
  }
  const router = new Router(EXACT)
  for (const [path, methods] of free) {
    for (const [method, route] of methods) router.register(path, [method], ctx => answer(ctx, route))
    router.all(path, ctx => answer(ctx, table.otherMethods(methods)))
  }
  const routed = router.routes() as Middleware
  /** Compares the path as it was sent. Koa's `ctx.path` turns `\` into `/` and cuts at `#`. It throws for a malformed URL. */
  const freePaths: Middleware = (ctx, next) => (free.has(pathOf(ctx.req.url!)) ? routed(ctx, next) : next())
  /** Answers unknown paths, and the page at `/`. Where another app mounts this one, that app answers them. */
  const notFound: Middleware = async (ctx, next) => {
    await next()
    const isAnswered = ctx.status !== 404 || ctx.body !== undefined || ctx.headerSent || ctx.respond === false
    if (ctx.app !== app || isAnswered) return
    const methods = table.unmounted.get(pathOf(ctx.req.url!))
    const route = methods ? (methods.get(ctx.req.method!) ?? table.otherMethods(methods)) : table.notFound
    await answer(ctx, route)
  }
  app.use(paidEndpoints)
  app.use(freePaths)
  app.use(notFound)
  return { app, middleware: (ctx, next) => paidEndpoints(ctx, () => freePaths(ctx, next)) }
}
