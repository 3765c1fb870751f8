/** Every path that the server answers, and its methods. */
import { BALANCE_KEY_HEADER, MAX_CHARGE_HEADER } from '../../domain/balance-terms.js'
import type { EndpointDef } from '../../domain/endpoint.js'
import { SvcError } from '../../domain/errors.js'
import { methodsOf, NO_PARAMS, paramsIn, pathOfEndpoint } from '../../domain/path-pattern.js'
import type { Logger } from '../../ports/logger.js'
import { patternMatcher } from './match-path.js'
import { type PaidRoute, type PaidRouteOptions, paidRoute } from './paid-route.js'
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
type Methods = ReadonlyMap<string, Route>

type Paths = ReadonlyMap<string, Methods>

/** The same routes for every host. */
export interface RouteTable {
  /** The route of a path that is answered here, whatever the method is. */
  find(method: string, path: string): Route | undefined
  /** The same where no other app mounts this one: the page at `/`, and 404 for paths of nobody. */
  findAlone(method: string, path: string): Route
}

/** @throws SvcError `invalid_options` where an endpoint's path is a free route's path. */
export function routeTable(options: HttpOptions): RouteTable {
  const headers = options.cors ? CORS_HEADERS : []
  const isLeft = ({ isLeftToMountingApp = false }: FreeRoute) => isLeftToMountingApp
  const free = freeRoutesByPath(options, headers, route => !isLeft(route))
  const unmounted = freeRoutesByPath(options, headers, isLeft)
  const notFound: Route = { headers, handle: noSuchPath }
  const { exact, patterned } = paidRoutes(options, headers, free)
  /** One look-up, so that a thousand endpoints cost the same as one. Patterns are tried for what no exact path is for. */
  const methodsAt = (method: string, path: string) =>
    exact.get(path) ?? free.get(path) ?? patterned(path, method)
  const routeIn = (methods: Methods, method: string): Route =>
    methods.get(method) ?? {
      headers,
      handle: ({ method: asked }) => otherMethod(asked, methods, options.cors),
    }
  const find: RouteTable['find'] = (method, path) => {
    const methods = methodsAt(method, path)
    return methods && routeIn(methods, method)
  }
  return {
    find,
    findAlone(method, path) {
      const methods = unmounted.get(path)
      return find(method, path) ?? (methods ? routeIn(methods, method) : notFound)
    },
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
function paidRoutes(options: HttpOptions, shared: readonly string[], free: Paths) {
  const { endpoints, basePath } = options
  const match = patternMatcher(endpoints)
  const exact = new Map<string, Map<string, Route>>()
  const routes = new Map<EndpointDef, PaidRoute>()
  const add = (methods: Map<string, Route>, def: EndpointDef, path: string, params = NO_PARAMS) => {
    for (const method of methodsOf(def)) {
      const known = methods.get(method)
      if (known === undefined || known.isProbe)
        methods.set(method, routes.get(def)!.at({ method, path, params }))
    }
    if (!methods.has('GET'))
      methods.set('GET', routes.get(def)!.probeAt({ method: def.method, path, params }))
    return methods
  }
  for (const def of endpoints) {
    routes.set(def, paidRoute(def, options, shared))
    const own = pathOfEndpoint(def)
    if (paramsIn(own).length > 0) continue
    const path = basePath + own
    if (free.has(path)) {
      throw new SvcError(
        `Endpoint '${def.name}' would be at ${path}, which is a free route`,
        'invalid_options',
      )
    }
    exact.set(path, add(exact.get(path) ?? new Map(), def, own))
  }
  const patterned = (path: string, method: string): Methods | undefined => {
    const own = path.slice(basePath.length)
    if (!path.startsWith(`${basePath}/`)) return undefined
    try {
      const found = match(own, method)
      if (found.length === 0) return undefined
      const methods = new Map<string, Route>()
      for (const { def, params } of found) add(methods, def, own, params)
      return methods
    } catch (cause) {
      if (!(cause instanceof HttpError)) throw cause
      const refused = { headers: shared, handle: () => Promise.reject(cause) }
      return new Map([[method, refused]])
    }
  }
  for (const [path, methods] of exact) {
    // A pattern may have methods that the more specific path has not.
    for (const { def, params } of match(path.slice(basePath.length)))
      add(methods, def, path.slice(basePath.length), params)
  }
  return { exact: exact as Paths, patterned }
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
  'PAYMENT-REQUIRED, PAYMENT-RESPONSE, Retry-After, Idempotency-Replayed',
  'x-svc-subscription, x-svc-subscription-expires, x-svc-subscription-remaining',
  `${BALANCE_KEY_HEADER}, x-svc-balance-expires, x-svc-balance, x-svc-charged, x-svc-reserved, x-svc-receipt`,
  'traceparent, Deprecation, Sunset',
].join(', ')

/** Of every answer that pages of any origin may read: names and values in turn. */
const CORS_HEADERS = Object.freeze([
  ...['Access-Control-Allow-Origin', '*'],
  ...['Access-Control-Expose-Headers', EXPOSED],
])

/** The list contains `Access-Control-Expose-Headers` because the official clients send it as a request header. */
const CORS_PREFLIGHT_HEADERS = Object.freeze([
  'Access-Control-Allow-Headers',
  [
    'Content-Type, PAYMENT-SIGNATURE, SIGN-IN-WITH-X, X-PAYMENT, Idempotency-Key, x-svc-subscription',
    `${BALANCE_KEY_HEADER}, ${MAX_CHARGE_HEADER}, traceparent, A2A-Version, A2A-Extensions, X-A2A-Extensions`,
    'Mcp-Protocol-Version, Mcp-Method, Mcp-Name, Access-Control-Expose-Headers',
  ].join(', '),
  ...['Access-Control-Max-Age', '600'],
])
