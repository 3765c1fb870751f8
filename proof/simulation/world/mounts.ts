/** Where the seller's paths begin. */
import type { RequestListener } from 'node:http'
import Koa from 'koa'
import mount from 'koa-mount'
import type { Features } from '../pairs.js'

const PREFIX = '/shop'

/** What stands before each path of the agent. */
export function prefixOf(where: Features['mount']): string {
  return where === 'none' || where === 'gate' ? '' : PREFIX
}

/** An app of the seller's with a middleware of its own, which mounts the agent's app. */
export function mountedIn(agent: Koa): RequestListener {
  const app = new Koa()
  // Streams that break are told there, too.
  app.silent = true
  app.use(async (context, next) => {
    context.set('x-shop', 'open')
    await next()
  })
  app.use(mount(PREFIX, agent))
  return app.callback()
}
