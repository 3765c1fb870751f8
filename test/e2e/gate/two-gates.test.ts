/** A route behind two gates of one agent: its buyer agreed to the price of the first, and pays no second one from a balance. */
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { expect, it } from 'vitest'
import { createGate, type Gate } from '../../../src/index.js'
import { startSandbox } from '../../../src/sandbox.js'
import { closing } from '../../support/closing.js'
import { listen } from '../../support/listen.js'
import { ask, pay } from '../../support/seller.js'

const OUTER = { name: 'outer', price: '$0.02', path: '/x', methods: 'GET' } as const
const INNER = { ...OUTER, name: 'inner', price: '$0.01' } as const

const APPS: Readonly<Record<string, (outer: Gate, inner: Gate) => Promise<string>>> = {
  Express(outer, inner) {
    const app = express().use(outer.documents.express)
    return listen(
      app.get('/x', outer.express(OUTER), inner.express(INNER), (_, res) => void res.send('sold')),
    )
  },
  Koa(outer, inner) {
    const app = new Koa().use(outer.documents.koa).use(outer.koa(OUTER)).use(inner.koa(INNER))
    app.use(ctx => {
      ctx.body = 'sold'
    })
    return listen(app.callback())
  },
  Hono(outer, inner) {
    const app = new Hono().use(outer.documents.hono)
    app.get('/x', outer.hono(OUTER), inner.hono(INNER), c => c.text('sold'))
    return listen(getRequestListener(app.fetch))
  },
  async Fastify(outer, inner) {
    const app = fastify().addHook('onRequest', outer.documents.fastify)
    const behind = inner.fastify(INNER, async () => 'sold')
    app.get('/x', outer.fastify(OUTER, behind))
    await app.ready()
    closing({ close: () => app.close() })
    return listen(app.routing)
  },
  Mixed(outer, inner) {
    const app = new Hono().use(outer.documents.hono)
    const priced = inner.fetch(INNER, () => new Response('sold'))
    app.get('/x', outer.hono(OUTER), c => priced(c.req.raw))
    return listen(getRequestListener(app.fetch))
  },
  Copied(outer, inner) {
    const priced = inner.fetch(INNER, () => new Response('sold'))
    const copied = outer.fetch(OUTER, request => priced(new Request(request)))
    const listener = getRequestListener(request =>
      new URL(request.url).pathname === '/x' ? copied(request) : outer.documents.fetch(request),
    )
    return listen(listener)
  },
  fetch(outer, inner) {
    const priced = outer.fetch(
      OUTER,
      inner.fetch(INNER, () => new Response('sold')),
    )
    const listener = getRequestListener(request =>
      new URL(request.url).pathname === '/x' ? priced(request) : outer.documents.fetch(request),
    )
    return listen(listener)
  },
}

it.each(Object.entries(APPS))('in %s', async (name, open) => {
  const sandbox = closing(await startSandbox())
  const { facilitatorUrl, algodUrl, seller } = sandbox
  const said: unknown[] = []
  const logger = { debug() {}, info() {}, warn() {}, error: (about: object) => void said.push(about) }
  const about = { name: 'Gated', handle: `twice-${name.toLowerCase()}`, description: 'Has a route.' }
  const gates = Array.from({ length: 2 }, () => {
    const agent = { ...about, payTo: seller.address, network: 'testnet' } as const
    const balance = { amounts: ['$1'], period: '1h' }
    const gate = createGate(
      { ...agent, balance },
      { facilitatorUrl, algodUrl, shutdownTimeoutMs: 100, logger },
    )
    closing({ close: () => gate.shutdown() })
    return gate
  })
  const url = await open(gates[0]!, gates[1]!)
  const sale = await pay({ sandbox } as never, `${url}/balance`, { body: { amount: '$1' } })
  const headers = {
    'x-svc-balance-key': sale.headers.get('x-svc-balance-key')!,
    'x-svc-max-charge': '20000',
    'idempotency-key': 'one-call-of-two-gates',
  }
  const answer = await ask(`${url}/x`, { method: 'GET', headers })
  expect([answer.status, answer.headers.get('x-svc-balance')]).toEqual([500, '1000000'])
  expect(JSON.stringify(said.map(each => String((each as { err?: unknown }).err)))).toContain(
    'behind two gates',
  )
})
