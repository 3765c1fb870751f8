/** Which answers of a route a gate sells, and what routes of Koa leave. */
import { isAscii } from 'node:buffer'
import { Readable } from 'node:stream'
import { toUSVString } from 'node:util'
import { handToKoa } from '../adapters/http/koa-host.js'
import type { Koa } from '../adapters/http/koa-request.js'
import type { Reply } from '../adapters/http/reply.js'
import { NoAnswer, renderHead, renderResponse } from '../app/charge/render-answer.js'
import { COLLECTED_BYTES_MAX, renderStream } from '../app/charge/stream-from-handler.js'
import { type Answer, ForwardedAnswer } from '../domain/handler.js'
import { type HeldAnswer, HeldResponse, NotHeld } from './hold-node-response.js'
import { takeHeaders } from './route-headers-and-pieces.js'

/** A context of Koa: what its route leaves there, or writes to its response itself, is held, and what the gate answers takes its place. */
export function heldContext(ctx: Koa.Context, isStream: boolean) {
  const { res } = ctx
  const written = new HeldResponse(res, isStream)
  /** Whether the route answers past Koa, as proxies do. */
  const isPast = () => ctx.respond === false || res.headersSent
  let isAtWork = false
  return {
    res,
    isSent: () => written.isSent(),
    async answerOf(next: () => Promise<unknown>): Promise<HeldAnswer> {
      const stood = res.getHeaders()
      // Koa says 404 until something answers.
      const past = written.begin(res.statusCode)
      isAtWork = true
      const left = async () => {
        try {
          await next()
        } catch (cause) {
          ctx.app.emit('error', cause, ctx)
          HeldResponse.threw(res, cause)
          // Koa writes no more, and nothing would end what has begun.
          if (isPast() && !written.isSent()) res.destroy(cause as Error)
          throw cause
        } finally {
          isAtWork = false
          if (!isPast()) written.release()
        }
        if (isPast()) return past
        return { status: ctx.status, headers: takeHeaders(res, stood), body: bodyIn(ctx) }
      }
      // A proxy's middleware may end only when its answer has left, and that waits for this.
      return written.unlessThrown(await Promise.race([left(), past]))
    },
    send(reply: Reply): void {
      if (!isAtWork && !isPast()) return void handToKoa(ctx, reply)
      // At once: what the route puts into its context later would be sent, while middleware around the gate waits.
      ctx.respond = false
      written.send(reply)
    },
  }
}

/** What a context of Koa has, as Koa would send it. */
function bodyIn({ body }: Koa.Context): string | Uint8Array | Readable {
  const web = body instanceof Blob ? body.stream() : body instanceof Response ? body.body : body
  if (web === null || web === undefined) return ''
  if (web instanceof ReadableStream) return Readable.fromWeb(web as never)
  const isAsItIs = typeof web === 'string' || web instanceof Uint8Array || web instanceof Readable
  return isAsItIs ? web : JSON.stringify(web)
}

/** A second gate would take a second price from the balance of a buyer who agreed to the first. */
export function refuseSecond(isGated: unknown): void {
  if (isGated) throw new NotHeld('a route is behind two gates, and has one price')
}

export function held({ status, headers, body }: HeldAnswer, redirects?: boolean): ForwardedAnswer {
  return soldAs({ status, ...renderHead(headers) }, body, redirects)
}

/** A body that comes in pieces is read as a stream that a handler returned. */
function soldAs(head: Omit<Answer, 'body'>, body: HeldAnswer['body'], redirects?: boolean): ForwardedAnswer {
  refuseUnsold(head, redirects)
  if (body instanceof Readable) return new ForwardedAnswer({ body: '', ...head }, renderStream(body)!.source)
  if (Buffer.byteLength(body) > COLLECTED_BYTES_MAX)
    throw new NoAnswer(`more than the ${COLLECTED_BYTES_MAX} bytes that are held`)
  // Node sends a text and its head in one write.
  if (typeof body === 'string') return new ForwardedAnswer({ body: toUSVString(body), ...head })
  const bytes = Buffer.from(body)
  return new ForwardedAnswer({ body: isAscii(bytes) ? bytes.toString('latin1') : bytes, ...head })
}

export function refuseUnsold({ status }: Pick<Answer, 'status'>, redirects?: boolean): void {
  if (status === 206 || status === 304) throw new NoAnswer(`${status}, which nobody asked for`)
  // Such as the way to an app's login. Clients follow none with a payment.
  if (status >= 300 && status < 400 && !redirects)
    throw new NoAnswer(`${status}, which \`sellRedirects: true\` in its terms would sell`)
}

export async function whole(answer: Response, redirects?: boolean): Promise<ForwardedAnswer> {
  const { body, ...head } = await renderResponse(answer)
  return soldAs(head, body, redirects)
}
