import { paymentMiddleware } from '@x402/express'
import express from 'express'
import { listen, ready, work } from './child.mjs'
import { resourceServer, routes } from './official.mjs'

const app = express()
app.use(express.json())
app.use(paymentMiddleware(routes, resourceServer))
app.post('/work', (request, response) => response.json(work(request.body)))
ready(await listen(app))
