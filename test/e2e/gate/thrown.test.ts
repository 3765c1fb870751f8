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
    app.get('/sync', gate.fastify(TERMS), () => {
      throw new Error('failed')
    })
    app.get('/async', gate.fastify(TERMS), async () => {
      await later()
      throw new Error('failed')
    })
    app.get('/well', gate.fastify(TERMS), async () => ({ ok: true }))
    await app.listen({ port: 0, host: '127.0.0.1' })
    closing({ close: () => app.close() })
    return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  },
}

it.each(Object.entries(APPS))('a route of %s', async (_, open) => {
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
  const url = await open(gate)
  const earned = () => sandbox.balance(seller.address).usdc!
  const before = earned()
  for (const path of ['sync', 'async', 'sync']) {
    const failed = await pay({ sandbox } as Seller, `${url}/${path}`, { method: 'GET' })
    expect([path, failed.status, earned() - before]).toEqual([path, 500, 0n])
  }
  const well = await pay({ sandbox } as Seller, `${url}/well`, { method: 'GET' })
  expect([well.status, await well.json(), earned() - before]).toEqual([200, { ok: true }, 10_000n])
})
