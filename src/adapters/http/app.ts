/** The HTTP door, twice: as a listener for a server of our own, and as a Koa app for somebody else's. */
import type { RequestListener, ServerResponse } from 'node:http'
import Koa, { type Context } from 'koa'
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
  /** What cannot be sent is not handed over, and is told to be our fault, where anything can still be told. */
  const leave = (reply: Reply, res: ServerResponse, write: (reply: Reply) => void): void => {
    try {
      write(reply)
    } catch (cause) {
      reply.handedOver?.(false)
      const refusal = refusalOf(cause, options.logger)
      if (res.headersSent) res.destroy()
      else write(refusal)
    }
  }
  const app = new Koa()
  app.on('error', err => options.logger.warn({ err }, 'a response could not be written'))
  app.use(async ctx => {
    closeWithSocket(ctx.res)
    const reply = await answer({ req: ctx.req, res: ctx.res, mountedAt: prefixOf(ctx) })
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
function prefixOf({ originalUrl, url }: Context): string {
  const isMounted = originalUrl.length > url.length && originalUrl.endsWith(url)
  return isMounted ? originalUrl.slice(0, -url.length) : ''
}
