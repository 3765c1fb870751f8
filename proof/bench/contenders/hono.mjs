import { getRequestListener } from '@hono/node-server'
import { paymentMiddleware } from '@x402/hono'
import { Hono } from 'hono'
import { listen, ready, work } from './child.mjs'
import { resourceServer, routes } from './official.mjs'

const app = new Hono()
app.use(paymentMiddleware(routes, resourceServer))
app.post('/work', async c => c.json(work(await c.req.json())))
ready(await listen(getRequestListener(app.fetch)))
