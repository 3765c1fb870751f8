/** Every path that the server answers, and its methods. */
import type { EndpointDef } from '../../domain/endpoint.js'
import { SvcError } from '../../domain/errors.js'
import { methodsOf, NO_PARAMS, paramsIn, pathOfEndpoint, plainPath } from '../../domain/path-pattern.js'
import { BALANCE_KEY_HEADER, MAX_CHARGE_HEADER } from '../../domain/x402.js'
import type { Logger } from '../../ports/logger.js'
import { patternMatcher } from './match-path.js'
import { type PaidRoute, type PaidRouteOptions, paidRoute } from './paid-route.js'
import { allowOf, HttpError, httpErrorOf, methodNotAllowed, type Reply, replyToError } from './reply.js'
import type { FreeRoute, HostRequest, PassedRoute, Route } from './route.js'

interface FreeOptions extends Pick<PaidRouteOptions, 'basePath'> {
  readonly freeRoutes: readonly FreeRoute[]
  readonly passed?: readonly PassedRoute[] | undefined
  /** The routes of gates, each in a table of its own. Another spelling of such a path could reach what stands behind the gate: it is refused. */
  readonly gated?: readonly RouteTable[]
  readonly cors: boolean | Cors
  /** What is said of paths of nobody. @default where an agent lists its paths */
  readonly notFound?: HttpError
}

interface Cors {
  readonly headers: readonly string[]
  readonly preflight: readonly string[]
}

export interface HttpOptions extends PaidRouteOptions, FreeOptions {
  readonly endpoints: readonly EndpointDef[]
}

/** A table that sells nothing needs nothing that calls are made with. */
export type TableOptions = HttpOptions | (FreeOptions & { readonly endpoints: readonly [] })

export function pathsOf({ path }: FreeRoute, basePath: string): readonly string[] {
  return [...new Set(['', basePath])].map(prefix => prefix + path)
}

type Methods = ReadonlyMap<string, Route>

type Paths = ReadonlyMap<string, Methods>

export interface RouteTable {
  find(method: string, path: string): Route | undefined
  /** The same where no other app mounts this one: the page at `/`, and 404 for paths of nobody. */
  findAlone(method: string, path: string): Route
}

export function routeTable(options: TableOptions): RouteTable {
  const { gated = [] } = options
  const cors = options.cors === true ? CORS : options.cors || undefined
  const headers = cors?.headers ?? []
  const isLeft = ({ isLeftToMountingApp = false }: FreeRoute) => isLeftToMountingApp
  const free = freeRoutesByPath(options, headers, route => !isLeft(route))
  const unmounted = freeRoutesByPath(options, headers, isLeft)
  const notFound: Route = {
    headers,
    handle() {
      throw options.notFound ?? httpErrorOf('not_found')
    },
  }
  const { exact, patterned } = paidRoutes(options, headers, free)
  /** One look-up, so that a thousand endpoints cost the same as one. Patterns are tried for what no exact path is for. */
  const methodsAt = (method: string, path: string) =>
    exact.get(path) ?? free.get(path) ?? patterned(path, method)
  const routeIn = (methods: Methods, method: string): Route => {
    const known = methods.get(method)
    if (known !== undefined) return known
    const routes = [...methods.values()]
    if (method === 'OPTIONS' && routes.every(({ isPassed }) => isPassed)) return routes[0]!
    return { headers, handle: ({ method: asked }) => otherMethod(asked, methods, cors) }
  }
  const inAnotherSpelling = (method: string, path: string) => {
    const plain = gated.length === 0 ? path : plainPath(path)
    const isGated = (table: RouteTable) => !table.find(method, path) && table.find(method, plain)
    return plain === path ? undefined : gated.find(isGated)?.findAlone(method, path)
  }
  const find: RouteTable['find'] = (method, path) => {
    const methods = methodsAt(method, path)
    return methods ? routeIn(methods, method) : inAnotherSpelling(method, path)
  }
  return {
    find,
    findAlone(method, path) {
      const methods = unmounted.get(path)
      return find(method, path) ?? (methods ? routeIn(methods, method) : notFound)
    },
  }
}

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

function freeRoutesByPath(
  { freeRoutes, basePath }: FreeOptions,
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

/** HEAD is not a GET here: it would run a handler, or promise to, for an answer that is discarded. */
function paidRoutes(options: TableOptions, shared: readonly string[], free: Paths) {
  const { endpoints, passed = [], basePath } = options
  const all = [...endpoints, ...(passed as readonly (PassedRoute & EndpointDef)[])]
  const match = patternMatcher(all)
  const exact = new Map<string, Map<string, Route>>()
  const routes = new Map<object, Pick<PaidRoute, 'at'> & Partial<PaidRoute>>(passed.map(def => [def, def]))
  const add = (methods: Map<string, Route>, def: EndpointDef, path: string, params = NO_PARAMS) => {
    const { at, probeAt } = routes.get(def)!
    for (const method of methodsOf(def)) {
      const known = methods.get(method)
      if (known !== undefined && !known.isProbe) continue
      methods.set(method, at({ method, path, params }))
      if (method === 'GET' && !probeAt) methods.set('HEAD', at({ method, path, params }))
    }
    if (probeAt && !methods.has('GET')) methods.set('GET', probeAt({ method: def.method, path, params }))
    return methods
  }
  for (const def of endpoints) routes.set(def, paidRoute(def, options as HttpOptions, shared))
  for (const def of all) {
    const own = pathOfEndpoint(def)
    if (paramsIn(own).length > 0) continue
    const path = basePath + own
    const taken = `Endpoint '${def.name}' would be at ${path}, which is a free route`
    if (free.has(path) && !('at' in def)) throw new SvcError(taken, 'invalid_options')
    exact.set(path, add(exact.get(path) ?? new Map(), def, own))
  }
  const patterned = (path: string, method: string): Methods | undefined => {
    const own = path.slice(basePath.length)
    if (!path.startsWith(`${basePath}/`)) return undefined
    try {
      const found = match(own, method === 'HEAD' ? 'GET' : method)
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
    for (const [method, route] of free.get(path) ?? []) if (!methods.has(method)) methods.set(method, route)
  }
  return { exact: exact as Paths, patterned }
}

function otherMethod(method: string, methods: Methods, cors: Cors | undefined): Reply {
  const allowed = [...methods].flatMap(([name, { isProbe }]) => (isProbe ? [] : name))
  if (method !== 'OPTIONS') throw methodNotAllowed(allowed)
  const allow = allowOf(allowed)
  const preflight = cors ? [...cors.preflight, 'Access-Control-Allow-Methods', allow] : []
  return { status: 204, headers: ['Allow', allow, ...preflight] }
}

/** Any page may call a paid route: the payment is the permission, and the server reads no cookies. */
const EXPOSED = [
  'PAYMENT-REQUIRED, PAYMENT-RESPONSE, Retry-After, Idempotency-Replayed',
  'x-svc-subscription, x-svc-subscription-expires, x-svc-subscription-remaining',
  `${BALANCE_KEY_HEADER}, x-svc-balance-expires, x-svc-balance, x-svc-charged, x-svc-reserved, x-svc-receipt`,
  'traceparent, Deprecation, Sunset',
].join(', ')

/** The list contains `Access-Control-Expose-Headers` because the official clients send it as a request header. */
const ALLOWED = [
  'Content-Type, PAYMENT-SIGNATURE, SIGN-IN-WITH-X, X-PAYMENT, Idempotency-Key, x-svc-subscription',
  `${BALANCE_KEY_HEADER}, ${MAX_CHARGE_HEADER}, traceparent, A2A-Version, A2A-Extensions, X-A2A-Extensions`,
  'Mcp-Protocol-Version, Mcp-Method, Mcp-Name, Access-Control-Expose-Headers',
].join(', ')

const CORS: Cors = {
  headers: ['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', EXPOSED],
  preflight: ['Access-Control-Allow-Headers', ALLOWED, 'Access-Control-Max-Age', '600'],
}
