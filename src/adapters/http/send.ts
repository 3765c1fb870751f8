/** How a reply leaves: by Node's own response, or by the context of a Koa app that another one may have mounted. */
import type { ServerResponse } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import type { Context } from 'koa'
import type { Reply } from './reply.js'

/** @throws Error for what HTTP cannot carry; nobody was told then. */
export function send(res: ServerResponse, reply: Reply): void {
  const { status, headers, body } = reply
  if (body instanceof Readable) {
    res.writeHead(status, headers as string[])
    pipeline(body, res, () => {})
  } else {
    const length = lengthOf(body)
    const framed = isBodiless(status) ? headers : [...headers, 'Content-Length', String(length)]
    res.writeHead(status, framed as string[])
    if (body instanceof Uint8Array) res.end(body)
    // Node writes the head in the encoding of a text that follows it, and UTF-8 is slow: ASCII need not be written so.
    else res.end(body, length === body?.length ? 'latin1' : 'utf8')
  }
  tellWhenOver(res, reply)
}

/** @throws Error as `send` does. */
export function give(ctx: Context, reply: Reply): void {
  try {
    put(ctx, reply)
  } catch (cause) {
    // What is said in its place must not wear its headers.
    for (let at = 0; at < reply.headers.length; at += 2) ctx.remove(reply.headers[at]!)
    throw cause
  }
  tellWhenOver(ctx.res, reply)
}

function put(ctx: Context, { status, headers, body }: Reply): void {
  ctx.status = status
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at]!
    // The one header that may stand there several times, and is never joined.
    if (name === 'set-cookie') ctx.append(name, headers[at + 1]!)
    else ctx.set(name, headers[at + 1]!)
  }
  const isTyped = ctx.res.hasHeader('Content-Type')
  if (!isBodiless(status)) {
    // Koa renders a Uint8Array that is no Buffer as a JSON object.
    ctx.body =
      body instanceof Uint8Array ? Buffer.from(body.buffer, body.byteOffset, body.byteLength) : (body ?? '')
    if (!isTyped) ctx.remove('Content-Type')
    // Set again: assigning a body has its own idea of the status.
    ctx.status = status
  }
}

/** Whether the answer reached the socket: its idempotency key depends on it. */
function tellWhenOver(res: ServerResponse, { handedOver }: Reply): void {
  if (handedOver === undefined) return
  if (res.destroyed) handedOver(false)
  else res.once('close', () => handedOver(res.writableFinished))
}

function isBodiless(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}

function lengthOf(body: string | Uint8Array = ''): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
}
