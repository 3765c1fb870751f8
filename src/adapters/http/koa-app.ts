/** HTTP on Node: one Koa app, which `serve` listens with and `createServer` returns for mounting. */
import type { Server } from 'node:http'
/** @ts-ignore: see {@link Koa}. */
import App from 'koa'
import { systemClock } from '../../ports/clock.js'
import type { Logger } from '../../ports/logger.js'
import { type Koa, KoaRequest, type NodeRequest } from './koa-request.js'
import { errorBody, type Reply } from './reply.js'
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

const REFUSALS: Readonly<Record<string, readonly [line: string, code: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'headers_too_large',
    'The headers are larger than 16 KiB together.',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'request_timeout', 'The request did not arrive in time.'],
}

/** How long the sender has to read the refusal. */
const LINGER_MS = 1_000

const MALFORMED = ['400 Bad Request', 'bad_request', 'This is not an HTTP request that can be read.'] as const

/** Answers requests that Node's parser refuses, in the same JSON as every other error. */
export function answerUnparsableRequests(server: Server): void {
  server.on('clientError', (cause: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || cause.code === 'ECONNRESET') return void socket.destroy()
    // A caller that does not close its own side would keep the connection, and the memory of all that it sent.
    systemClock.after(LINGER_MS, () => socket.destroy())
    const [line, code, message] = REFUSALS[cause.code ?? ''] ?? MALFORMED
    const body = JSON.stringify(errorBody(code, message))
    socket.end(
      `HTTP/1.1 ${line}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    )
  })
}
