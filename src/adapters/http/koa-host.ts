/**
 * HTTP on Node: one Koa app, which `serve` listens with and `createServer` returns for mounting. A reply is one write where this app is
 * alone, and goes through Koa's context where other middleware may look at it.
 */
import type { ServerResponse } from 'node:http'
/** @ts-ignore: see {@link Koa}. */
import App from 'koa'
import { bufferOf } from '../../domain/bytes.js'
import type { Logger } from '../../ports/logger.js'
import { askForAll, type Koa, KoaRequest, type NodeRequest } from './koa-request.js'
import { isBodiless, isStream, type Reply } from './reply.js'
import type { Route } from './route.js'
import { pathOf, type RouteTable, replyOf } from './route-table.js'
import {
  closeWithSocket,
  isUntouched,
  type ReplyTarget,
  readableOf,
  sendReply,
  setHeaders,
  unsent,
  writeAtOnce,
} from './write-node-response.js'

/** Node's codes for a connection that its caller ended. */
const HANG_UPS = new Set<unknown>(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'])

/** @param turnEnd see `turns` of the platform */
export function koaHost(table: RouteTable, logger: Logger, turnEnd?: () => Promise<void> | undefined) {
  const app = new App().on('error', err => {
    // A caller can reset as many connections as it likes, and would fill the log.
    const level = HANG_UPS.has(err?.code) ? 'debug' : 'warn'
    logger[level]({ err }, 'a response could not be written')
  }) as Koa

  /** Answers by a route whatever the path is, beside no app of Koa. */
  async function answerNode(to: ReplyTarget, route: Route, request: NodeRequest): Promise<void> {
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
    sendReply(to, reply, logger)
  }

  /** The same, in an app of Koa. */
  function answer(ctx: Koa.Context, route: Route): Promise<void> {
    const { res } = ctx
    /** Whether no other middleware of Koa sees this response. */
    let isAlone: boolean | undefined
    const send = (reply: Reply) => {
      isAlone ??= ctx.app === app && app.middleware[0] === middleware && isUntouched(res)
      if (!isAlone) return handToKoa(ctx, reply)
      ctx.respond = false
      writeAtOnce(res, reply)
    }
    return answerNode({ res, isSent: () => res.headersSent, send }, route, new KoaRequest(ctx))
  }

  /** For another Koa app: unknown paths are left to `next`. Compares the path as it was sent. Koa's `ctx.path` turns `\` into `/` and cuts at `#`. It throws for a malformed URL. */
  function middleware(ctx: Koa.Context, next: Koa.Next): Promise<void> {
    const route = table.find(ctx.req.method!, pathOf(ctx.req.url!))
    return route ? answer(ctx, route) : next()
  }
  /** Answers unknown paths, and the page at `/`. Where another app mounts this one, that app answers them. */
  async function notFound(ctx: Koa.Context, next: Koa.Next): Promise<void> {
    await next()
    const isAnswered = ctx.status !== 404 || ctx.body !== undefined || ctx.headerSent || ctx.respond === false
    if (ctx.app === app && !isAnswered)
      await answer(ctx, table.findAlone(ctx.req.method!, pathOf(ctx.req.url!)))
  }
  app.use(middleware)
  app.use(notFound)
  return { app, answerNode, middleware }
}

export function handToKoa(ctx: Koa.Context, reply: Reply): void {
  const { status, headers, body } = reply
  if (reply.instead) askForAll(Object.assign(ctx, { [REPLY]: reply, onerror: sayInstead }).req)
  ctx.status = status
  setHeaders(ctx.res, headers)
  const isTyped = ctx.res.hasHeader('Content-Type')
  if (isBodiless(status)) return
  if (isStream(body)) ctx.body = readableOf(body).once('error', () => breakOff(ctx.res))
  // Koa renders a Uint8Array that is not a Buffer as a JSON object.
  else ctx.body = body instanceof Uint8Array ? bufferOf(body) : (body ?? '')
  if (!isTyped) ctx.remove('Content-Type')
  // Set the status again: assigning a body changes it.
  ctx.status = status
}

/** The receipt is in the head, which Koa sends with the first chunk. */
function breakOff(res: ServerResponse): void {
  if (!res.headersSent) res.flushHeaders()
  res.destroy()
}

const REPLY = Symbol('reply')

/**
 * Middleware around threw after the reply. Koa's own answer has neither the receipt nor the key of a window that was bought, and there is
 * none where Koa cannot write to the error.
 */
function sayInstead(this: Koa.Context, cause?: Error & { readonly headers?: Record<string, string> }): void {
  const { res, app, [REPLY]: reply } = this as Koa.Context & { readonly [REPLY]: Required<Reply> }
  if (!cause || res.headersSent || !this.writable)
    return void Object.getPrototypeOf(this).onerror.call(this, cause)
  app.emit('error', cause, this)
  unsent(res, reply, cause)
  for (const name of res.getHeaderNames()) res.removeHeader(name)
  // As Koa does: the headers of CORS are among them.
  this.set(cause.headers ?? {})
  const { status, headers, body } = reply.instead()
  this.status = status
  setHeaders(res, headers)
  res.end(body)
}
