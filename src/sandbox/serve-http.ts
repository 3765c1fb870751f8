/** The sandbox's web server: a list of routes over node:http, bodies bounded, on the loopback interface only. */
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { SvcError } from '../domain/errors.js'
import { jsonIn } from '../domain/json.js'
import { foreign } from './foreign-requests.js'

export interface SandboxRequest {
  readonly query: URLSearchParams
  readonly body: Buffer
  /** The captures of the route's pattern, percent-decoded. */
  readonly parts: readonly string[]
}

export type Reply =
  | {
      readonly status: number
      readonly type: string
      readonly body: string | Uint8Array
      readonly headers?: Readonly<Record<string, string>>
    }
  /** Writes to the response directly, for a fault. */
  | { readonly raw: (response: ServerResponse) => void }

export interface Route {
  readonly method: string
  readonly path: RegExp
  /** Refuse pages of other ports of this machine. */
  readonly sameOrigin?: true
  /** It is answered as a node's web server answers, with a node's limits. */
  readonly ofNode?: true
  handle(request: SandboxRequest): Reply | Promise<Reply>
}

const BODY_BYTES_MAX = 1024 * 1024
const NODE_BODY_BYTES_MAX = 10 * 1024 * 1024
/** The code of errors that have a node's form. */
const NODE_ERROR = 'algod'
const LOOPBACK = '127.0.0.1'

export async function serveRoutes(routes: readonly Route[], port: number) {
  const server = createServer((message, response) => {
    answer(routes, message)
      .catch(failure)
      .then(reply => send(message, response, reply))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, LOOPBACK, resolve)
  })
  return {
    url: `http://${LOOPBACK}:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export function get(path: RegExp, handle: Route['handle']): Route {
  return { method: 'GET', path, handle }
}

export function post(path: RegExp, handle: Route['handle']): Route {
  return { method: 'POST', path, handle }
}

export function json(status: number, value: unknown, headers?: Readonly<Record<string, string>>): Reply {
  return { status, type: 'application/json', body: JSON.stringify(value), headers }
}

/** The form of the sandbox's own errors. A node's errors are `{message}`. */
export function problem(status: number, code: string, message: string): Reply {
  return json(status, { error: { code, message } })
}

export class BadRequest extends SvcError {
  declare readonly status: number

  constructor(code: string, message: string, status = 400) {
    super(message, code, status)
  }
}

export function jsonBody(body: Buffer): unknown {
  const value = jsonIn(body.toString('utf8'))
  if (value === undefined) throw new BadRequest('invalid_json', 'The body is not JSON')
  return value
}

async function answer(routes: readonly Route[], message: IncomingMessage): Promise<Reply> {
  const [target = '/', search = ''] = (message.url ?? '/').split('?', 2)
  const path = target.startsWith('/v2/') ? target.replace(/\/$/, '') : target
  const { method, headers } = message
  const allowed = routes.filter(route => route.path.test(path))
  // What begins as a node's paths do is answered by the node, also where it has no such path.
  const ofNode = allowed.length > 0 ? allowed.some(each => each.ofNode) : /^\/v2(\/|$)/.test(path)
  const isPreflight = method === 'OPTIONS' && (ofNode || allowed.length > 0)
  const wanted = isPreflight ? headers['access-control-request-method'] : method
  const route = allowed.find(each => each.method === wanted)
  const why = foreign(headers, route?.sameOrigin ?? false)
  if (why) throw why
  if (isPreflight) return ofNode ? NODE_PREFLIGHT : preflight(allowed)
  if (!route) throw noRoute(allowed, ofNode)
  return route.handle({
    query: new URLSearchParams(search),
    body: await bodyOf(message, ofNode),
    parts: (route.path.exec(path) ?? []).slice(1).map(decoded),
  })
}

function noRoute(allowed: readonly Route[], ofNode: boolean): BadRequest {
  const [status, words] = allowed.length > 0 ? [405, 'Method Not Allowed'] : [404, 'Not Found']
  if (ofNode) return new BadRequest(NODE_ERROR, words, status)
  if (status === 404) return new BadRequest('not_found', 'There is nothing here', status)
  const methods = allowed.map(({ method }) => method).join(', ')
  return new BadRequest('method_not_allowed', `Allowed: ${methods}`, status)
}

const NODE_PREFLIGHT: Reply = Object.freeze({
  status: 204,
  type: '',
  body: '',
  headers: {
    'access-control-allow-methods': 'GET,POST,PUT,DELETE,OPTIONS',
    'access-control-allow-headers': 'X-Algo-API-Token,Content-Type',
  },
})

/** A browser sends a preflight request before it sends JSON. */
function preflight(routes: readonly Route[]): Reply {
  const methods = routes.filter(({ sameOrigin }) => !sameOrigin).map(({ method }) => method)
  const headers = {
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': '*',
    'access-control-max-age': '600',
  }
  return { status: 200, type: 'text/plain', body: '', headers }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new BadRequest('invalid_path', 'The path is not percent-encoded text')
  }
}

async function bodyOf(message: IncomingMessage, ofNode: boolean): Promise<Buffer> {
  if (message.method === 'GET') return Buffer.alloc(0)
  const most = ofNode ? NODE_BODY_BYTES_MAX : BODY_BYTES_MAX
  if (Number(message.headers['content-length'] ?? 0) > most) throw tooLarge(most, ofNode)
  const chunks: Buffer[] = []
  let length = 0
  // The request is not destroyed, so that the caller can read why it was refused.
  for await (const chunk of message.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > most) throw tooLarge(most, ofNode)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLarge(most: number, ofNode: boolean): BadRequest {
  if (ofNode) return new BadRequest(NODE_ERROR, 'Request Entity Too Large', 413)
  return new BadRequest('body_too_large', `At most ${most} bytes`, 413)
}

function failure(error: unknown): Reply {
  if (error instanceof SvcError && error.status !== undefined) {
    const { status, code, message } = error
    if (code === NODE_ERROR) return nodeError(status, message)
    return json(status, { message, error: { code, message } })
  }
  return problem(500, 'sandbox_error', error instanceof Error ? error.message : String(error))
}

/** Go's JSON escapes what HTML would read, and its encoder ends with a newline. */
function nodeError(status: number, message: string): Reply {
  const escaped = JSON.stringify({ message }).replace(
    /[<>&]/g,
    mark => `\\u00${mark.charCodeAt(0).toString(16)}`,
  )
  return { status, type: 'application/json', body: `${escaped}\n` }
}

function send(message: IncomingMessage, response: ServerResponse, reply: Reply): void {
  if (response.destroyed) return
  if ('raw' in reply) {
    reply.raw(response)
    return
  }
  const headers: OutgoingHttpHeaders = {
    ...(reply.type !== '' && message.method !== 'HEAD' && { 'content-type': reply.type }),
    // Pages read the node by the browser's own client.
    ...(message.headers.origin !== undefined && { 'access-control-allow-origin': '*' }),
    vary: 'Accept-Encoding, Origin',
    ...reply.headers,
    // After a body that was not read to its end, the connection cannot carry another request.
    ...(reply.status === 413 && { connection: 'close' }),
  }
  const isPacked =
    message.url?.startsWith('/v2/') &&
    reply.status !== 204 &&
    /\bgzip\b/.test(String(message.headers['accept-encoding'] ?? ''))
  const body = isPacked ? gzipSync(reply.body) : reply.body
  if (isPacked) headers['content-encoding'] = 'gzip'
  if (reply.status !== 204) headers['content-length'] = Buffer.byteLength(body)
  response.writeHead(reply.status, headers)
  response.end(body)
}
