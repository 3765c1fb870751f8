/** Ours in a Hono app, as its guide shows: the same host as `@x402/hono` has in these rows. */
import { serve } from '@hono/node-server'
import { createHandler } from '@svc/sdk'
import { Hono } from 'hono'
import { agentOf } from './agent.mjs'
import { config, ready } from './child.mjs'
import { hourlyLimit } from './hourly-limit.mjs'

const { fetch } = createHandler(agentOf([]), {
  facilitatorUrl: config.facilitatorUrl,
  algodUrl: config.facilitatorUrl,
  stores: { rateLimit: hourlyLimit() },
})
const app = new Hono()
app.all('*', c => fetch(c.req.raw))
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => ready(port))
