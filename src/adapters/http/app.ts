/** The HTTP door, twice: as a listener for a server of our own, and as a Koa app for somebody else's. */
import type { RequestListener, ServerResponse } from 'node:http'
import Koa, { type Context } from 'koa'
import type { BodyHolder } from './left-body.js'
import { closeWithSocket } from './pipelined.js'
import { refusalOf } from './refusal.js'
import type { Reply } from './reply.js'
import { answering, type HttpOptions } from './routes.js'
import { give, send } from './send.js'

export interface HttpDoor {
  /** Answers without Koa, whose context and setters cost a third on top of the same answer by Node alone. */
  readonly listener: RequestListener
  /** To be mounted; whatever is around it may change what leaves. */
  readonly app: Koa
}

export function httpDoor(options: HttpOptions): HttpDoor {
  const answer = answering(options)
  /** What cannot be sent is not handed over. Where anything can still be said, it is how the call ended. */
  const leave = (reply: Reply, res: ServerResponse, write: (reply: Reply) => void): void => {
    try {
      write(reply)
    } catch (cause) {
      reply.handedOver?.(false)
      const refusal = refusalOf(cause, options.logger)
      try {
        if (res.headersSent) res.destroy()
        else write(reply.instead?.() ?? refusal)
      } catch (err) {
        // A connection that ends says less than a false word about money, and an error here would end the process.
        options.logger.error({ err }, 'an answer could not be written, nor what is said in its place')
        res.destroy()
      }
    }
  }
  const app = new Koa()
  app.on('error', err => options.logger.warn({ err }, 'a response could not be written'))
  app.use(async ctx => {
    closeWithSocket(ctx.res)
    const { req, res, request } = ctx
    const reply = await answer({ req, res, mountedAt: prefixOf(ctx), holder: request as BodyHolder })
    leave(reply, ctx.res, each => give(ctx, each))
  })
  return {
    app,
    async listener(req, res) {
      closeWithSocket(res)
      const reply = await answer({ req, res, mountedAt: '' })
      leave(reply, res, each => send(res, each))
    },
  }
}

/** Routes match `url` exactly, so what stands before it is the mounting app's word, not the caller's. */
function prefixOf({ req, originalUrl, url }: Context): string {
  // Express shortens the request's own URL before Koa sees it, and keeps the whole beside it.
  const { originalUrl: whole = originalUrl } = req as { originalUrl?: string }
  const prefix = whole.endsWith(url) ? whole.slice(0, -url.length) : ''
  // Anything but a path would make another host of the origin that it is put behind.
  return prefix.startsWith('/') ? prefix : ''
}
