/** HTTP on Node: one Koa app, which `serve` listens with and `createServer` returns for mounting. */
/** @ts-ignore: see {@link Koa}. */
import App from 'koa'
import type { Logger } from '../../ports/logger.js'
import { type Koa, KoaRequest, type NodeRequest } from './koa-request.js'
import type { Reply } from './reply.js'
import type { Route } from './route.js'
import { pathOf, type RouteTable, replyOf } from './route-table.js'
import { closeWithSocket, type ReplyTarget, responder, sendReply } from './write-node-response.js'

/** Node's codes for a connection that its caller ended. */
const HANG_UPS = new Set<unknown>(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'])

type Middleware = Koa.Middleware
export type KoaHost = ReturnType<typeof koaHost>

/** @param turnEnd see `turns` of the platform */
export function koaHost(table: RouteTable, logger: Logger, turnEnd?: () => Promise<void> | undefined) {
  const app = quietApp(logger)
  const isOutermost = (ctx: Koa.Context) => ctx.app === app && app.middleware[0] === middleware
  const respond = responder(isOutermost, logger)

  async function replyTo(request: NodeRequest, route: Route, send: (reply: Reply) => void): Promise<void> {
    const { res } = request
    if (res.headersSent) {
      // What is paid for could not be sent.
      logger.error({}, 'middleware sent the head of an answer before the route was asked')
      return res.writableEnded ? undefined : void res.destroy()
    }
    closeWithSocket(res)
    const reply = await replyOf(route, request, logger)
    const end = turnEnd?.()
    if (end !== undefined) await end
    send(reply)
  }

  /** Answers by a route whatever the path is, in another app of Koa. */
  const answer = (ctx: Koa.Context, route: Route) =>
    replyTo(new KoaRequest(ctx), route, reply => respond(ctx, reply))

  /** For another Koa app: unknown paths are left to `next`. Compares the path as it was sent. Koa's `ctx.path` turns `\` into `/` and cuts at `#`. It throws for a malformed URL. */
  const middleware: Middleware = (ctx, next) => {
    const route = table.find(ctx.req.method!, pathOf(ctx.req.url!))
    return route ? answer(ctx, route) : next()
  }
  /** Answers unknown paths, and the page at `/`. Where another app mounts this one, that app answers them. */
  const notFound: Middleware = async (ctx, next) => {
    await next()
    const isAnswered = ctx.status !== 404 || ctx.body !== undefined || ctx.headerSent || ctx.respond === false
    if (ctx.app !== app || isAnswered) return
    await answer(ctx, table.findAlone(ctx.req.method!, pathOf(ctx.req.url!)))
  }
  app.use(middleware)
  app.use(notFound)
  /** The same, beside no app of Koa. */
  const answerNode = (to: ReplyTarget, route: Route, request: NodeRequest) =>
    replyTo(request, route, reply => sendReply(to, reply, logger))
  return { app, answerNode, middleware }
}

function quietApp(logger: Logger): Koa {
  return new App().on('error', err => {
    // A caller can reset as many connections as it likes, and would fill the log.
    const level = HANG_UPS.has(err?.code) ? 'debug' : 'warn'
    logger[level]({ err }, 'a response could not be written')
  }) as Koa
}
