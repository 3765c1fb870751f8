/**
 * Holds what a route of an app answers: nothing is sent until the gate has answered. Koa keeps an answer in its context; Express and
 * Fastify write to Node's response, which is held.
 */
import type { ServerResponse } from 'node:http'
import { PassThrough, Readable } from 'node:stream'
import type { Context } from 'koa'
import { http2StreamOf } from './koa-request.js'

/** What a route answered. */
export interface HeldAnswer {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string | Uint8Array | Readable
}

/** The app wrote what may not be sold, or wrote where the gate cannot see it. */
class NotHeld extends TypeError {}

const WROTE_PAST =
  'a route wrote to the connection past its gate (res.socket, ctx.respond = false): it is not charged, and the connection is closed'
const FLUSHED =
  'a route flushed its head: give its terms `stream: true`, and it is sold as a stream. It is not charged'

export interface Held {
  /** Writes to the connection. */
  readonly real: ServerResponse
  /** From now on what others write is held; resolves with it. */
  begin(): Promise<HeldAnswer>
}

type Write = (...given: never[]) => unknown

export function hold(res: ServerResponse, isStream: boolean): Held {
  let isAnswered = false
  const isReplaced = ['writeHead', 'write', 'end', 'setHeader', 'flushHeaders'].some(name =>
    Object.hasOwn(res, name),
  )
  const wasSent = () => Reflect.get(Object.getPrototypeOf(res), 'headersSent', res) as boolean
  const head = res.writeHead.bind(res) as Write
  const writeHead: Write = (...given) => {
    isAnswered = true
    return head(...given)
  }
  // Node's own functions write the head by the response's `writeHead`, which may hold it.
  const withHead = (write: Write): Write => {
    const own = write.bind(res) as Write
    return (...given) => {
      if (!wasSent()) writeHead(res.statusCode as never)
      return own(...given)
    }
  }
  const writers: Readonly<Record<PropertyKey, Write>> = {
    writeHead,
    write: withHead(res.write),
    end: withHead(res.end),
    flushHeaders: withHead(res.flushHeaders),
  }
  const real = new Proxy(res, {
    get(_, key) {
      if (key === 'headersSent') return wasSent()
      if (Object.hasOwn(writers, key)) return writers[key]
      const value = Reflect.get(res, key, res)
      return typeof value === 'function' ? value.bind(res) : value
    },
    set: (_, key, value) => Reflect.set(res, key, value, res),
    // Where nothing else has replaced the functions, an answer is written at once.
    getOwnPropertyDescriptor: (_, key) =>
      isReplaced ? Reflect.getOwnPropertyDescriptor(res, key) : undefined,
  })
  return { real, begin: () => held(res, { isStream, wasSent, isAnswered: () => isAnswered }) }
}

interface Holding {
  readonly isStream: boolean
  wasSent(): boolean
  /** The gate has answered: what the route writes now is too late, and dropped. */
  isAnswered(): boolean
}

function held(res: ServerResponse, { isStream, wasSent, isAnswered }: Holding): Promise<HeldAnswer> {
  // What is around the gate may have said 404 until something answers, as Koa does.
  res.statusCode = 200
  const before = res.getHeaders()
  const { socket } = res
  const writtenBefore = socket?.bytesWritten
  let isBegun = false
  let stream: PassThrough | undefined
  return new Promise((resolve, reject) => {
    const finish = (body: HeldAnswer['body']) => {
      isBegun = true
      if (isAnswered()) return
      const isPast = socket && !http2StreamOf(res) && socket.bytesWritten !== writtenBefore
      if (!wasSent() && !isPast)
        return resolve({ status: res.statusCode, headers: takeHeaders(res, before), body })
      reject(new NotHeld(WROTE_PAST))
      res.destroy()
    }
    /** The body that comes in pieces; its head is the one that stands at the first of them. */
    const pieces = () => {
      if (stream === undefined) {
        stream = new PassThrough()
        stream.on('drain', () => res.emit('drain'))
        finish(stream)
      }
      return stream
    }
    const holding: Record<string, Write> = {
      writeHead(status, ...rest) {
        const headers: object = rest.find(each => typeof each === 'object') ?? {}
        res.statusCode = status
        for (const [name, value] of pairsIn(headers)) res.setHeader(name, value as string)
        isBegun = true
        return res
      },
      flushHeaders() {
        if (!isStream) reject(new NotHeld(FLUSHED))
        pieces()
      },
      write: (...given) => pieces().write(...(given as unknown as [unknown])),
      end(...given) {
        const whenSent = given.find(each => typeof each === 'function') as (() => void) | undefined
        if (whenSent !== undefined) res.once('finish', whenSent)
        const [chunk, encoding] = given.filter(each => each !== whenSent && each !== null) as unknown[]
        if (stream !== undefined) stream.end(chunk, encoding as BufferEncoding)
        else
          finish(typeof chunk === 'string' ? Buffer.from(chunk, encoding as BufferEncoding) : bytesIn(chunk))
        return res
      },
    }
    for (const name of ['setHeader', 'removeHeader', 'appendHeader'] as const) {
      const change = res[name].bind(res) as Write
      holding[name] = (...given) => (wasSent() ? res : change(...given))
    }
    Object.assign(res, holding)
    Object.defineProperty(res, 'headersSent', { get: () => isBegun || wasSent(), configurable: true })
  })
}

/** A copy: the app may use its buffer again. */
function bytesIn(chunk: unknown): Uint8Array {
  return new Uint8Array((chunk as Uint8Array | undefined) ?? [])
}

/** An object, pairs, or names and values in turn, as `writeHead` takes them. */
function pairsIn(headers: object): readonly (readonly [string, unknown])[] {
  if (!Array.isArray(headers)) return Object.entries(headers)
  if (Array.isArray(headers[0])) return headers
  return headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1]] as const] : []))
}

/** The headers that were set since, taken off the response: an answer that is not paid for must not show them. */
function takeHeaders(
  res: ServerResponse,
  before: Readonly<Record<string, unknown>>,
): (readonly [string, string])[] {
  return Object.entries(res.getHeaders()).flatMap(([name, value]) => {
    const old: unknown[] = [before[name]].flat()
    if (before[name] === value) return []
    if (before[name] === undefined) res.removeHeader(name)
    else res.setHeader(name, before[name] as string)
    return [value].flat().flatMap(each => (old.includes(each) ? [] : [[name, String(each)] as const]))
  })
}

/** What a route of Koa left in its context, as Koa would send it. */
export function answerIn(ctx: Context, before: Readonly<Record<string, unknown>>): HeldAnswer {
  if (ctx.respond === false || ctx.res.headersSent) {
    ctx.res.destroy()
    throw new NotHeld(WROTE_PAST)
  }
  const { status, body } = ctx
  const headers = takeHeaders(ctx.res, before)
  const web = body instanceof Blob ? body.stream() : body instanceof Response ? body.body : body
  if (web === null || web === undefined) return { status, headers, body: '' }
  if (web instanceof ReadableStream) return { status, headers, body: Readable.fromWeb(web as never) }
  const isAsItIs = typeof web === 'string' || web instanceof Uint8Array || web instanceof Readable
  return { status, headers, body: isAsItIs ? web : JSON.stringify(web) }
}
