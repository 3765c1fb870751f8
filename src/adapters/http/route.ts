/** A route is data, and a host carries the request to it. */
import type { IncomingHttpHeaders } from 'node:http'
import type { BodyType } from '../../domain/body-type.js'
import type { EndpointDef } from '../../domain/endpoint.js'
import type { Handler } from '../../domain/handler.js'
import type { Target } from '../../domain/path-pattern.js'
import type { Parsed } from '../../domain/x402.js'
import type { Caller } from '../../ports/charge.js'
import type { BodyShare } from './body-memory-limit.js'
import type { Reply } from './reply.js'

export interface BodyReading {
  readonly bytesMax: number
  /** @default 'json' */
  readonly type?: BodyType
  /** Another server reads it. @default false */
  readonly isForwarded?: boolean
}

/** The app around, where a request came to a route of it. It reads the body after the gate, as if nobody had. */
export interface AppRoute {
  readonly handler: Handler
  readonly stream: boolean
}

/** What any host (Node, or a runtime with `fetch`) can say of a request and its caller, before the body is read. */
export interface HostRequest {
  readonly method: string
  /** The path below `mountedAt`, and the query, as they were sent. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
  /** The path at which another app mounts this one; empty where there is none. */
  readonly mountedAt: string
  readonly scheme: 'http' | 'https'
  /** The host and port that were reached, for requests whose headers name none. */
  readonly localHost: string
  /** The address at the other end of the connection, where the host knows it. */
  readonly address: string | undefined
  readonly caller: Caller
  readonly carriesBody: boolean
  /** Whether its caller can tell a stream that breaks from one that ends. HTTP/1.0 ends both by closing the connection. */
  readonly canStream: boolean
  readonly app?: AppRoute | undefined
  /** @throws HttpError for a body that cannot be read, or is too large. */
  readBody(how: BodyReading, share: BodyShare): Parsed<unknown> | Promise<Parsed<unknown>>
  /** Discards a body that nothing read. */
  skipBody(): void
  /** Reports that this request's answer could not be written: its caller's `onEnd` then receives `false`. */
  undelivered(): void
}

export interface Route {
  /** Headers of every answer of the route, refusals too: names and values in turn. */
  readonly headers: readonly string[]
  handle(request: HostRequest): Reply | Promise<Reply>
  /** Answered, and not among the methods that `Allow` names: the path is for another method. @default false */
  readonly isProbe?: boolean
  /** Another server answers it unpaid, and OPTIONS too where nothing at its path is sold. @default false */
  readonly isPassed?: boolean
}

/** A path that another server answers unpaid. */
export interface PassedRoute extends Pick<EndpointDef, 'name' | 'path' | 'method' | 'methods'> {
  at(target: Target): Route
}

/** A route without payment, at the root and under `basePath`. */
export interface FreeRoute extends Route {
  readonly path: string
  readonly method: 'GET' | 'POST'
  /** For pages of this origin only. @default false */
  readonly sameOrigin?: boolean
  /** An app that mounts this one answers the path itself. @default false */
  readonly isLeftToMountingApp?: boolean
}
