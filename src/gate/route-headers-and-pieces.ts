/** A response of Node on which a route stands behind a gate: its headers are taken back, and a stream is sent by what is around. */
import { EventEmitter } from 'node:events'
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { pipeline, Writable } from 'node:stream'
import type { StreamedBody } from '../adapters/http/reply.js'
import { readableOf } from '../adapters/http/write-node-response.js'

/** The headers that were set since, taken off the response: an answer that is not paid for must not show them. */
export function takeHeaders(res: ServerResponse, before: OutgoingHttpHeaders): (readonly [string, string])[] {
  const taken: (readonly [string, string])[] = []
  const now = res.getHeaders()
  for (const name in now) {
    const [value, old] = [now[name], before[name]]
    if (value === old) continue
    if (old === undefined) res.removeHeader(name)
    else res.setHeader(name, old as string)
    if (typeof value === 'string' && old === undefined) taken.push([name, value])
    else for (const each of [value].flat()) if (![old].flat().includes(each)) taken.push([name, String(each)])
  }
  return taken
}

export type OwnFunctions = Pick<ServerResponse, 'writeHead' | 'write' | 'end' | 'flushHeaders' | 'on'>

/** Sends a stream by the functions of middleware around, which may call no callbacks, may return nothing, and may compress by a stream of its own. */
export function sendPieces(res: ServerResponse, own: OwnFunctions, body: StreamedBody): void {
  // The first chunk may be late, and the receipt is in the head.
  own.flushHeaders.call(res)
  let go: (() => void) | undefined
  for (const on of [own.on, EventEmitter.prototype.on])
    on.call(res, 'drain', () => res.writableNeedDrain || go?.())
  const sent = new Writable({
    write(chunk, _, done) {
      go = () => {
        go = undefined
        done()
      }
      // The encoding of a Writable's bytes, `buffer`, is none to middleware that decodes them.
      if (own.write.call(res, chunk, 'utf8') !== false) go()
    },
    final: done => void own.end.call(res.once('finish', done), undefined, 'utf8'),
    destroy(cause, done) {
      res.destroy()
      done(cause)
    },
  })
  res.once('close', () => sent.destroy())
  pipeline(readableOf(body), sent, () => {})
}

/**
 * V8 makes a new shape for each property of an object whose prototype was set, as Express does with each response, at 2 µs each. One that
 * has lost a property has no shape any more, and properties cost it nothing.
 */
export function forgetShape(res: ServerResponse): void {
  const { sendDate } = res
  if (Object.getPrototypeOf(res) === res.constructor.prototype || !Object.hasOwn(res, 'sendDate')) return
  Reflect.deleteProperty(res, 'sendDate')
  res.sendDate = sendDate
}
