/** The sandbox's web server: a list of routes over node:http, bodies bounded, on the loopback interface only. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
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
  handle(request: SandboxRequest): Reply | Promise<Reply>
}

export interface SandboxServer {
  readonly url: string
  close(): Promise<void>
}

const BODY_BYTES_MAX = 1024 * 1024
const LOOPBACK = '127.0.0.1'

export async function serveRoutes(routes: readonly Route[], port: number): Promise<SandboxServer> {
  const server = createServer((message, response) => {
    answer(routes, message)
      .catch(failure)
      .then(reply => send(response, reply))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, LOOPBACK, resolve)
  })
  return {
    url: `http://${LOOPBACK}:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export function json(status: number, value: unknown, headers?: Readonly<Record<string, string>>): Reply {
  return { status, type: 'application/json', body: JSON.stringify(value), headers }
}

/** The form of the sandbox's own errors. A node's errors are `{message}`. */
export function problem(status: number, code: string, message: string): Reply {
  return json(status, { error: { code, message } })
}

/** Thrown by a route for a wrong request. */
export class BadRequest extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly status = 400,
  ) {
    super(message)
  }
}

/** The body as JSON. @throws BadRequest where it is no JSON */
export function jsonBody(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    throw new BadRequest('invalid_json', 'The body is not JSON')
  }
}

async function answer(routes: readonly Route[], message: IncomingMessage): Promise<Reply> {
  const [path = '/', search = ''] = (message.url ?? '/').split('?', 2)
  const { method, headers } = message
  const allowed = routes.filter(route => route.path.test(path))
  const isPreflight = method === 'OPTIONS' && allowed.length > 0
  const wanted = isPreflight ? headers['access-control-request-method'] : method
  const route = allowed.find(each => each.method === wanted)
  const why = foreign(headers, route?.sameOrigin ?? false)
  if (why) throw new BadRequest(why.code, why.message, 403)
  if (isPreflight) return preflight(allowed)
  if (!route) {
    if (allowed.length === 0) throw new BadRequest('not_found', 'There is nothing here', 404)
    throw new BadRequest(
      'method_not_allowed',
      `Allowed: ${allowed.map(({ method }) => method).join(', ')}`,
      405,
    )
  }
  return route.handle({
    query: new URLSearchParams(search),
    body: await bodyOf(message),
    parts: (route.path.exec(path) ?? []).slice(1).map(decoded),
  })
}

/** A browser sends a preflight request before it sends JSON, transactions or a node's token. */
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

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  if (message.method === 'GET') return Buffer.alloc(0)
  const chunks: Buffer[] = []
  let length = 0
  // The request is not destroyed, so that the caller can read why it was refused.
  for await (const chunk of message.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > BODY_BYTES_MAX)
      throw new BadRequest('body_too_large', `At most ${BODY_BYTES_MAX} bytes`, 413)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function failure(error: unknown): Reply {
  if (error instanceof BadRequest) {
    const { status, code, message } = error
    return json(status, { message, error: { code, message } })
  }
  return problem(500, 'sandbox_error', error instanceof Error ? error.message : String(error))
}

function send(response: ServerResponse, reply: Reply): void {
  if (response.destroyed) return
  if ('raw' in reply) {
    reply.raw(response)
    return
  }
  // After a body that was not read to its end, the connection cannot carry another request.
  const close = reply.status === 413 ? { connection: 'close' } : {}
  response.writeHead(reply.status, {
    'content-type': reply.type,
    'content-length': Buffer.byteLength(reply.body),
    // Pages read the node by the browser's own client.
    'access-control-allow-origin': '*',
    ...reply.headers,
    ...close,
  })
  response.end(reply.body)
}
