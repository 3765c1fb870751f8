/** Every path that the server answers, and its methods. */
import type { EndpointDef } from '../../domain/endpoint.js'
import { SvcError } from '../../domain/errors.js'
import type { Logger } from '../../ports/logger.js'
import { type PaidRouteOptions, paidRoute, probeRoute } from './paid-route.js'
import {
  allowOf,
  type FreeRoute,
  type HostRequest,
  HttpError,
  methodNotAllowed,
  type Reply,
  type Route,
  replyToError,
} from './route.js'

export interface HttpOptions extends PaidRouteOptions {
  readonly endpoints: readonly EndpointDef[]
  readonly freeRoutes: readonly FreeRoute[]
  readonly cors: boolean
}

/** The paths at which a free route answers. */
export function pathsOf({ path }: FreeRoute, basePath: string): readonly string[] {
  return [...new Set(['', basePath])].map(prefix => prefix + path)
}

/** The routes of one path, by method. */
export type Methods = ReadonlyMap<string, Route>

type Paths = ReadonlyMap<string, Methods>

/** The same routes for every host. */
export interface RouteTable {
  readonly paid: Paths
  readonly free: Paths
  /** Free routes that answer only where no other app mounts this one: there the path is that app's. */
  readonly unmounted: Paths
  /** Answers the methods that a path does not list: OPTIONS, or 405. */
  otherMethods(methods: Methods): Route
  readonly notFound: Route
}

/** @throws SvcError `invalid_options` where an endpoint's path is a free route's path. */
export function routeTable(options: HttpOptions): RouteTable {
  const headers = options.cors ? CORS_HEADERS : []
  const isLeft = ({ isLeftToMountingApp = false }: FreeRoute) => isLeftToMountingApp
  const free = freeRoutesByPath(options, headers, route => !isLeft(route))
  return {
    paid: paidRoutes(options, headers, free),
    free,
    unmounted: freeRoutesByPath(options, headers, isLeft),
    otherMethods: methods => ({
      headers,
      handle: ({ method }) => otherMethod(method, methods, options.cors),
    }),
    notFound: { headers, handle: noSuchPath },
  }
}

/** The path in a request's target, as it was sent. */
export function pathOf(target: string): string {
  const end = target.indexOf('?')
  return end === -1 ? target : target.slice(0, end)
}

/** Whatever breaks becomes a reply, with the headers of its route. */
export async function replyOf(route: Route, request: HostRequest, logger: Logger): Promise<Reply> {
  let reply: Reply
  try {
    reply = await route.handle(request)
  } catch (cause) {
    reply = replyToError(cause, logger)
  }
  request.skipBody()
  return route.headers.length === 0 ? reply : { ...reply, headers: [...route.headers, ...reply.headers] }
}

function noSuchPath(): never {
  throw new HttpError(404, 'not_found', 'There is no such path here.')
}

function freeRoutesByPath(
  { freeRoutes, basePath }: HttpOptions,
  shared: readonly string[],
  isOfTable: (route: FreeRoute) => boolean,
): Paths {
  const paths = new Map<string, Map<string, Route>>()
  for (const free of freeRoutes.filter(isOfTable)) {
    const route = free.sameOrigin ? free : { ...free, headers: shared.concat(free.headers) }
    for (const path of pathsOf(free, basePath)) {
      const methods = paths.get(path) ?? new Map<string, Route>()
      paths.set(path, methods.set(free.method, route))
      if (free.method === 'GET') methods.set('HEAD', route)
    }
  }
  return paths
}

/**
 * HEAD is not a GET here: it would run a handler, or promise to, for an answer that is discarded.
 *
 * @throws SvcError `invalid_options` where an endpoint's path is a free route's path.
 */
function paidRoutes(options: HttpOptions, shared: readonly string[], free: Paths): Paths {
  const { endpoints, basePath } = options
  const paths = new Map<string, Map<string, Route>>()
  for (const def of endpoints) {
    const path = `${basePath}/${def.name}`
    if (free.has(path)) {
      throw new SvcError(
        `Endpoint '${def.name}' would be at ${path}, which is a free route`,
        'invalid_options',
      )
    }
    const routes = [paidRoute(def, options), ...(def.method === 'POST' ? [probeRoute(def, options)] : [])]
    paths.set(
      path,
      new Map(
        routes.map(({ method, headers, ...route }) => [
          method,
          { ...route, headers: shared.concat(headers) },
        ]),
      ),
    )
  }
  return paths
}

/** @throws HttpError for any method but OPTIONS. */
function otherMethod(method: string, methods: Methods, cors: boolean): Reply {
  const allowed = [...methods].flatMap(([name, { isProbe }]) => (isProbe ? [] : name))
  if (method !== 'OPTIONS') throw methodNotAllowed(allowed)
  const allow = allowOf(allowed)
  const preflight = cors ? [...CORS_PREFLIGHT_HEADERS, 'Access-Control-Allow-Methods', allow] : []
  return { status: 204, headers: ['Allow', allow, ...preflight] }
}

/** Any page may call a paid route: the payment is the permission, and the server reads no cookies. */
const EXPOSED = [
  'PAYMENT-REQUIRED',
  'PAYMENT-RESPONSE',
  'Retry-After',
  'Idempotency-Replayed',
  'x-svc-subscription',
  'x-svc-subscription-expires',
  'x-svc-subscription-remaining',
  'traceparent',
  'Deprecation',
  'Sunset',
].join(', ')

/** Of every answer that pages of any origin may read: names and values in turn. */
const CORS_HEADERS = Object.freeze([
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Expose-Headers',
  EXPOSED,
])

/** The list contains `Access-Control-Expose-Headers` because the official clients send it as a request header. */
const CORS_PREFLIGHT_HEADERS = Object.freeze([
  'Access-Control-Allow-Headers',
  [
    'Content-Type',
    'PAYMENT-SIGNATURE',
    'SIGN-IN-WITH-X',
    'X-PAYMENT',
    'Idempotency-Key',
    'x-svc-subscription',
    'traceparent',
    'A2A-Version',
    'A2A-Extensions',
    'X-A2A-Extensions',
    'Mcp-Protocol-Version',
    'Mcp-Method',
    'Mcp-Name',
    'Access-Control-Expose-Headers',
  ].join(', '),
  'Access-Control-Max-Age',
  '600',
])
