/** A route is data: a path, methods, and a function from a request to a reply. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { BodyHolder } from './body-left-by-middleware.js'
import type { Reply } from './reply.js'

/** A request after Node has parsed its head. */
export interface NodeRequest {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** The path at which another app mounts this one; empty where there is none. */
  readonly mountedAt: string
  /** Where that app's parser leaves a body that it read, besides the request itself. */
  readonly holder?: BodyHolder
}

export interface Route {
  /** Headers of every answer of the route, refusals too: names and values in turn. */
  readonly headers: readonly string[]
  handle(incoming: NodeRequest): Reply | Promise<Reply>
}

/** A route without payment, at the root and under `basePath`. */
export interface FreeRoute extends Route {
  readonly path: string
  readonly method: 'GET' | 'POST'
  /** For pages of this origin only. @default false */
  readonly sameOrigin?: boolean
}
