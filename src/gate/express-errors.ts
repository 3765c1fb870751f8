/** What a route of Express throws. Its app may answer an error as it answers a success, and a failure costs nothing. */
import type { ServerResponse } from 'node:http'
import type { ExpressRequest } from './gate-types.js'
import { type HeldAnswer, HeldResponse, NotHeld } from './hold-node-response.js'

const AT = Symbol('the route that Express named last')
const IS_LEFT = Symbol('the request has left that route')

interface RoutedRequest {
  [AT]: ExpressRequest['route']
  [IS_LEFT]: boolean
}

/** Each route that Express names from now on is heard: what is thrown there, and when the request leaves it. */
export function hearRoutes(req: ExpressRequest): void {
  const { route } = req
  Object.defineProperty(req, 'route', ROUTE).route = route
}

/** What middleware outside of routes throws is not heard: its app may answer it as it answers a success. */
export function refuseUnheard(req: ExpressRequest, { status }: HeldAnswer): void {
  if ((req as Partial<RoutedRequest>)[IS_LEFT] && status < 400)
    throw new NotHeld(
      'what answered is no route of Express, such as `app.get` makes: its errors cannot be told',
    )
}

/** One descriptor for all requests, as in {@link HeldResponse}. */
const ROUTE: PropertyDescriptor & ThisType<RoutedRequest> = {
  get() {
    return this[AT]
  },
  set(route: ExpressRequest['route']) {
    this[AT] = route
    this[IS_LEFT] = route === undefined
    if (route === undefined || heard.has(route)) return
    heard.add(route)
    // Behind its own handlers, and before the app's handlers of errors.
    for (const method of Object.keys(route.methods ?? {}))
      Reflect.get(route, method.replace('_', '')).call(route, left, threw)
  },
  configurable: true,
  enumerable: true,
}

const heard = new WeakSet<object>()

function left(req: RoutedRequest, res: ServerResponse, next: () => void): void {
  req[IS_LEFT] = !res.headersSent
  next()
}

function threw(cause: unknown, _req: unknown, res: object, next: (cause: unknown) => void): void {
  HeldResponse.threw(res, cause)
  next(cause)
}
