/** HTTP without sockets: a request as Node's server has read it, and a response that says what became of it. */

import { EventEmitter } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Readable, Writable } from 'node:stream'
import type { Exchange } from '../../../src/simulation-parts.js'
import { ConnectionLost } from '../kernel/network.js'
import type { Process } from '../kernel/process.js'
import type { EndpointName } from './agents.js'

/** What a process reaches others with. The network of the simulation loses and delays what it sends. */
export function exchangeThat(send: Exchange['send']): Exchange {
  const nothing = async () => {}
  return { send, open: nothing, close: nothing, destroy: nothing }
}

export interface WireRequest {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly host: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly address: string
  /** By the host for `fetch`, not by Node's. */
  readonly isFetched?: boolean
  /** What is asked, where the path and the headers do not say it. */
  readonly asks?: Asked
  /** The answer of a door of its own, as HTTP would have said it. */
  readonly read?: (reply: WireReply) => WireReply
}

/** What a request asks for, whatever it is wrapped in. */
export interface Asked {
  readonly endpoint: EndpointName
  readonly body: string
  readonly key: string | undefined
  readonly window: string | undefined
  readonly balance: string | undefined
  readonly maxCharge: string | undefined
  /** The payment, as it stands in the header. */
  readonly header: string | undefined
}

export interface WireReply {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string
}

/** A connection that its caller may end. */
export class HangUp {
  isGone = false
  #listener: () => void = () => {}

  onGone(listener: () => void): void {
    this.#listener = listener
  }

  now(): void {
    this.isGone = true
    this.#listener()
  }
}

/** How long an answer takes to leave the process. */
export const FLUSH_MS = 1

/** Lets the server of this process answer. Rejects where its connection ends first. */
export function received(
  process: Process,
  listener: RequestListener,
  request: WireRequest,
  hangUp: HangUp,
): Promise<WireReply> {
  return new Promise((resolve, reject) => {
    const req = incoming(request)
    const res = new Response(req, process, (reply, why) =>
      reply ? resolve(reply) : reject(new ConnectionLost(why)),
    )
    hangUp.onGone(() => process.deliver(() => res.destroy()))
    if (hangUp.isGone) return void res.destroy()
    listener(req, res as unknown as ServerResponse)
  })
}

function incoming({ method, target, host, headers, body, address }: WireRequest): IncomingMessage {
  const bytes = body === undefined ? undefined : Buffer.from(body)
  const stream = new Readable({ read() {} })
  if (bytes) stream.push(bytes)
  stream.push(null)
  return Object.assign(stream, {
    method,
    url: target,
    headers: { host, ...headers, ...(bytes && { 'content-length': String(bytes.length) }) },
    socket: { remoteAddress: address, destroyed: false, errored: null },
  }) as unknown as IncomingMessage
}

/** A response of Node's server, as far as Koa and what it is built of know one. */
class Response extends Writable {
  readonly req: IncomingMessage
  readonly socket = Object.assign(new EventEmitter(), { writable: true })
  statusCode = 200
  #isHeadSent = false
  #text = ''
  /** By their names in small letters. */
  readonly #set = new Map<string, readonly [string, string | readonly string[]]>()
  #sent: [string, string][] = []
  readonly #process: Process

  constructor(
    req: IncomingMessage,
    process: Process,
    told: (reply: WireReply | undefined, why: string) => void,
  ) {
    super()
    this.req = req
    this.#process = process
    // A stream that breaks ends its connection, which is all that its caller sees.
    this.on('error', () => {})
    this.once('close', () => {
      const reply = { status: this.statusCode, headers: this.#sent, body: this.#text }
      told(this.writableFinished ? reply : undefined, 'ECONNRESET')
    })
  }

  get finished(): boolean {
    return this.writableEnded
  }

  /** As Node has it, of the class: a gate shadows it, and asks the class. */
  get headersSent(): boolean {
    return this.#isHeadSent
  }

  getHeaderNames(): string[] {
    return [...this.#set.keys()]
  }

  getHeaders(): Record<string, string | readonly string[]> {
    return Object.fromEntries([...this.#set].map(([name, [, value]]) => [name, value]))
  }

  getHeader(name: string): string | readonly string[] | undefined {
    return this.#set.get(name.toLowerCase())?.[1]
  }

  hasHeader(name: string): boolean {
    return this.#set.has(name.toLowerCase())
  }

  setHeader(name: string, value: string | number | readonly string[]): void {
    this.#set.set(name.toLowerCase(), [name, Array.isArray(value) ? value : String(value)])
  }

  removeHeader(name: string): void {
    this.#set.delete(name.toLowerCase())
  }

  writeHead(status: number, headers: readonly string[]): void {
    this.flushHeaders()
    this.statusCode = status
    for (let at = 0; at < headers.length; at += 2) this.#sent.push([headers[at]!, headers[at + 1]!])
  }

  flushHeaders(): void {
    if (this.#isHeadSent) return
    this.#isHeadSent = true
    for (const [name, value] of this.#set.values())
      for (const each of [value].flat()) this.#sent.push([name, each])
  }

  override _write(chunk: Uint8Array, _encoding: string, done: () => void): void {
    this.flushHeaders()
    this.#text += textOf(chunk)
    done()
  }

  override _final(done: () => void): void {
    this.flushHeaders()
    this.#process.clock.after(FLUSH_MS, done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.writableFinished) (this.req.socket as { destroyed: boolean }).destroyed = true
    done(error)
  }
}

export function textOf(body: string | Uint8Array): string {
  return typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
}
