/** A route that throws costs nothing, also where its app answers the error as it answers a success: with 200. */
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createGate, type Gate } from '../../../src/index.js'
import { type Sandbox, startSandbox } from '../../../src/sandbox.js'
import { closing } from '../../support/closing.js'
import { listen } from '../../support/listen.js'
import { pay, type Seller } from '../../support/seller.js'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

const TERMS = { price: '$0.01' }
const SAID = { ok: false }

const later = () => new Promise(setImmediate)

const APPS: Readonly<Record<string, (gate: Gate) => Promise<string>>> = {
  Express(gate) {
    const app = express()
    app.get('/sync', gate.express(TERMS), () => {
      throw new Error('failed')
    })
    app.get('/async', gate.express(TERMS), async () => {
      await later()
      throw new Error('failed')
    })
    app.get('/well', gate.express(TERMS), (_, res) => void res.json({ ok: true }))
    app.use(((_cause, _req, res, _next) => {
      res.json(SAID)
    }) satisfies express.ErrorRequestHandler)
    return listen(app)
  },
  Hono(gate) {
    const app = new Hono()
    app.onError((_, c) => c.json(SAID))
    app.get('/sync', gate.hono(TERMS), () => {
      throw new Error('failed')
    })
    app.get('/async', gate.hono(TERMS), async () => {
      await later()
      throw new Error('failed')
    })
    app.get('/well', gate.hono(TERMS), c => c.json({ ok: true }))
    return listen(getRequestListener(app.fetch))
  },
  async Fastify(gate) {
    const app = fastify({ forceCloseConnections: true })
    app.setErrorHandler((_cause, _request, reply) => {
      reply.send(SAID)
    })
    const sync = () => {
      throw new Error('failed')
    }
    const async = async () => {
      await later()
      throw new Error('failed')
    }
    app.get('/sync', gate.fastify(TERMS, sync))
    app.get('/async', gate.fastify(TERMS, async))
    app.get(
      '/well',
      gate.fastify(TERMS, async () => ({ ok: true })),
    )
    await app.listen({ port: 0, host: '127.0.0.1' })
    closing({ close: () => app.close() })
    return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  },
}

function opened() {
  const { facilitatorUrl, algodUrl, seller } = sandbox
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  const definition = {
    name: 'Gated',
    handle: 'gated',
    description: 'Has routes.',
    network: 'testnet',
  } as const
  const gate = createGate({ ...definition, payTo: seller.address }, { facilitatorUrl, algodUrl, logger })
  closing({ close: () => gate.shutdown() })
  const before = sandbox.balance(seller.address).usdc!
  return { gate, earned: () => sandbox.balance(seller.address).usdc! - before }
}

it.each(Object.entries(APPS))('a route of %s', async (_, open) => {
  const { gate, earned } = opened()
  const url = await open(gate)
  for (const path of ['sync', 'async', 'sync']) {
    const failed = await pay({ sandbox } as Seller, `${url}/${path}`, { method: 'GET' })
    expect([path, failed.status, earned()]).toEqual([path, 500, 0n])
  }
  const well = await pay({ sandbox } as Seller, `${url}/well`, { method: 'GET' })
  expect([well.status, await well.json(), earned()]).toEqual([200, { ok: true }, 10_000n])
})

type Run = express.RequestHandler
const PLACES: Readonly<Record<string, (app: express.Express, priced: Run, run: Run) => unknown>> = {
  'by `use` before the route': (app, priced, run) => app.use('/x', priced).get('/x', run),
  'in a router, by `use`': (app, priced, run) => {
    const router = express.Router()
    router.use(priced)
    router.get('/x', run)
    app.use(router)
  },
  'in a route of its own': (app, priced, run) => app.get('/x', priced).get('/x', run),
  'in a route that passes on to the next': (app, priced, run) => {
    app.get('/x', priced, (_req, _res, next) => next('route')).get('/x', run)
  },
  'in a route for all methods': (app, priced, run) => app.all('/x', priced, run),
  'beside middleware': (app, priced, run) => app.use('/x', priced, run),
  'in a route that ends before middleware': (app, priced, run) => app.get('/x', priced).use('/x', run),
  'in a route that is skipped to middleware': (app, priced, run) => {
    app.get('/x', priced, (_req, _res, next) => next('route')).use(run)
  },
  'in a router that is left for middleware': (app, priced, run) => {
    const router = express.Router().get('/x', priced, (_req, _res, next) => next('router'))
    app.use(router, run)
  },
  'before an app below it': (app, priced, run) => app.use(priced, express().get('/x', run)),
  'in an app below it': (app, priced, run) => app.use(express().get('/x', priced, run)),
  'before parameters that are looked up': (app, priced, run) => {
    const lookUp: Run = (req, _res, next) => next(req.query.fails !== undefined && new Error('failed'))
    app.param('x', (req, res, next) => lookUp(req, res, next))
    app.use(priced).get('/:x', (_req, res) => void res.json({ ok: true }), run)
  },
}

const answering: Run = (req, res) => {
  if (req.query.fails !== undefined) throw new Error('failed')
  res.json({ ok: true })
}

function inExpress(place: (typeof PLACES)[string], gate: Gate) {
  const app = express()
  place(app, gate.express({ ...TERMS, path: '/x', methods: 'GET' }), answering)
  app.use(((_cause, _req, res, _next) => {
    res.json(SAID)
  }) satisfies express.ErrorRequestHandler)
  return listen(app)
}

it.each(Object.entries(PLACES))('a gate of Express %s', async (_, place) => {
  const { gate, earned } = opened()
  const url = await inExpress(place, gate)
  const failed = await pay({ sandbox } as Seller, `${url}/x?fails`, { method: 'GET' })
  expect([failed.status, earned()]).toEqual([500, 0n])
  const well = await pay({ sandbox } as Seller, `${url}/x`, { method: 'GET' })
  expect([well.status, await well.json(), earned()]).toEqual([200, { ok: true }, 10_000n])
})

it('a gate of Express in what is no app of Express is refused', async () => {
  const { gate } = opened()
  const priced = gate.express({ ...TERMS, path: '/x', methods: 'GET' })
  expect(() => priced({ url: '/x', method: 'GET' } as never, {} as never, () => {})).toThrow('Express 4 or 5')
})
