/** An app of `config.framework` that sells `/work` and `/window`: by routes of its own behind a gate, or by handlers that it mounts. */
import { json } from 'node:stream/consumers'
import { getRequestListener } from '@hono/node-server'
import Router from '@koa/router'
import { createGate, createHandler } from '@svc/sdk'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { agentOf, SERVED } from './agent.mjs'
import { config, INPUT, listen, PRICE, ready, work } from './child.mjs'
import { hourlyLimit } from './hourly-limit.mjs'

const { port: _, host, handleSignals, ...served } = SERVED
const options = { ...served, stores: { rateLimit: hourlyLimit() } }
const { endpoints, bidsOn, ...about } = agentOf([])
const terms = {
  '/work': { name: 'work', price: PRICE, input: INPUT },
  '/window': { name: 'window', subscription: { price: PRICE, period: '30d' }, input: INPUT },
}
const PATHS = Object.keys(terms)
const termsAt = path => ({ ...terms[path], path, methods: 'POST' })
const gate = createGate(about, options)
const handler = createHandler(agentOf([]), options)

const gated = {
  express() {
    const app = express().use(express.json())
    for (const path of PATHS)
      app.post(path, gate.express(termsAt(path)), (req, res) => res.json(work(req.body)))
    return app
  },
  koa() {
    const router = new Router()
    for (const path of PATHS)
      router.post(path, gate.koa(termsAt(path)), ctx => {
        ctx.body = work(ctx.state.svc.body)
      })
    return new Koa().use(router.routes()).callback()
  },
  hono() {
    const app = new Hono()
    for (const path of PATHS) app.post(path, gate.hono(termsAt(path)), c => c.json(work(c.get('svc').body)))
    return getRequestListener(app.fetch)
  },
  async fastify() {
    const app = fastify()
    for (const path of PATHS)
      app.post(
        path,
        gate.fastify(termsAt(path), async request => work(request.body)),
      )
    await app.ready()
    return app.routing
  },
}

/** Mounted in an app of Fastify, whose parsers leave the body alone. */
async function besideFastify(answer) {
  const app = fastify()
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _body, done) => done(null))
  app.all('/*', (request, reply) => {
    reply.hijack()
    answer(request.raw, reply.raw)
  })
  await app.ready()
  return app.routing
}

const mounted = {
  express: () => express().use(express.json()).use(handler.node),
  koa: () => new Koa().use(handler.koa()).callback(),
  hono: () => getRequestListener(new Hono().all('/*', c => handler.fetch(c.req.raw)).fetch),
  fastify: () => besideFastify(handler.node),
}

/** The routes alone, as they are without a price. */
const plain = {
  express() {
    const app = express().use(express.json())
    for (const path of PATHS) app.post(path, (req, res) => res.json(work(req.body)))
    return app
  },
  koa() {
    const router = new Router()
    for (const path of PATHS)
      router.post(path, async ctx => {
        ctx.body = work(await json(ctx.req))
      })
    return new Koa().use(router.routes()).callback()
  },
  hono() {
    const app = new Hono()
    for (const path of PATHS) app.post(path, async c => c.json(work(await c.req.json())))
    return getRequestListener(app.fetch)
  },
  async fastify() {
    const app = fastify()
    for (const path of PATHS) app.post(path, async request => work(request.body))
    await app.ready()
    return app.routing
  },
}

const SAID = JSON.stringify({ said: 'HELLO', times: 1 })
const say = (_req, res) => {
  res.writeHead(200, [
    'Content-Type',
    'application/json; charset=utf-8',
    'Content-Length',
    String(SAID.length),
  ])
  res.end(SAID)
}

/** The same mounts as for the handler, with a constant behind them. */
const bare = {
  express: () => express().use(express.json()).use(say),
  koa: () =>
    new Koa()
      .use(async ctx => {
        ctx.respond = false
        say(ctx.req, ctx.res)
      })
      .callback(),
  hono: () =>
    getRequestListener(
      new Hono().all('/*', () => new Response(SAID, { headers: { 'content-type': 'application/json' } }))
        .fetch,
    ),
  fastify: () => besideFastify(say),
}

ready(await listen(await { gated, mounted, plain, bare }[config.sells][config.framework]()))
