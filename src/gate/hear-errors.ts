/** What routes of Express and Fastify throw: the app may answer it as it answers a success, and a failure costs nothing. */
import { SvcError } from '../domain/errors.js'
import type { FastifyReply } from './gate-types.js'
import { HeldResponse } from './hold-node-response.js'

type Runs = (
  ...given: [...cause: unknown[], req: object, res: object, next: (cause?: unknown) => void]
) => void
type Layer = Record<string, Runs | undefined>
interface Routed {
  readonly route?: { readonly stack?: Layer[] }
  readonly app?: Readonly<Record<'router' | '_router', { readonly stack: Layer[] } | undefined>>
}

const heard = new WeakSet<object>()

/**
 * Express's routes, routers and apps run all that they have as layers of one class, whose prototype is changed here, once: a layer that
 * the gate added would not see what its route leaves to another route or to middleware. Express 4 has other names.
 */
export function hearErrors(req: object): void {
  const { route, app } = req as Routed
  const layers: Layer = Object.getPrototypeOf((route ?? app?._router ?? app?.router)?.stack?.[0] ?? {})
  if (heard.has(layers)) return
  const names = Object.keys(layers).filter(each => /^handle_?(request|error)$/i.test(each))
  if (names.length !== 2)
    throw new SvcError('This gate is not in an app of Express 4 or 5', 'invalid_endpoint')
  for (const name of names) {
    const run = layers[name]!
    layers[name] = function (this: Layer, ...given) {
      const next = given.pop() as (cause?: unknown) => void
      const res = given.at(-1) as object
      if (given.length === 3) HeldResponse.threw(res, given[0])
      run.call(this, ...given, (thrown?: unknown) => {
        if (thrown && thrown !== 'route' && thrown !== 'router') HeldResponse.threw(res, thrown)
        next(thrown)
      })
    }
  }
  heard.add(layers)
}

const ON_ERROR = 'fastify.reply.isRunningOnErrorHook'

/** What Fastify is given to send: nothing, where the gate answers, or where the route answers by its reply, now or later. */
export function givenTo(
  reply: FastifyReply,
  route: () => unknown,
  gate: (next: (cause?: Error) => void) => void,
): Promise<unknown> {
  // Fastify sets this before the app answers an error, be it of the route, of a hook, of a schema or of what cannot be serialized. That
  // answer may have any status, and may go past the reply.
  // Where a plugin has decorated replies, this one was made by a class of Fastify's below its first, which alone sets it from the start.
  let made = reply.constructor as new () => object
  while (Object.getPrototypeOf(made) !== Function.prototype) made = Object.getPrototypeOf(made)
  const failing = Object.getOwnPropertySymbols(new made()).find(({ description }) => description === ON_ERROR)
  if (failing === undefined) throw new SvcError('This gate is not in an app of Fastify 5', 'invalid_endpoint')
  let isFailing = Reflect.get(reply, failing)
  Object.defineProperty(reply, failing, {
    get: () => isFailing,
    set(value) {
      isFailing = value
      HeldResponse.threw(reply.raw, undefined)
    },
  })
  const answered = new Promise((resolve, reject) => {
    gate(cause => {
      try {
        if (cause) throw cause
        const given = route()
        if (given !== undefined) resolve(given)
      } catch (thrown) {
        reject(thrown)
      }
    })
  })
  // Before Fastify hears it: what is thrown need be no error, and the app may answer past its reply.
  answered.catch(cause => HeldResponse.threw(reply.raw, cause))
  return answered
}
