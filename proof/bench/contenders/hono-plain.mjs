/** A Hono app that reads the body and answers as ours does: it checks, holds and remembers nothing. */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { config, ready } from './child.mjs'

const app = new Hono()
app.post('/work', async c => {
  await c.req.json()
  return c.body('{}', 402, { 'content-type': 'application/json', 'PAYMENT-REQUIRED': config.header })
})
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => ready(port))
