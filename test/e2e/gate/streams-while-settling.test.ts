/** A route's stream that fails while its payment settles: it is charged, and its caller gets the receipt, and no whole answer. */
import { PassThrough, pipeline } from 'node:stream'
import express from 'express'
import fastify from 'fastify'
import Koa from 'koa'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createGate, type EndedCall, type Gate } from '../../../src/index.js'
import { type Sandbox, startSandbox } from '../../../src/sandbox.js'
import { closing } from '../../support/closing.js'
import { heldFacilitator } from '../../support/held-facilitator.js'
import { listen } from '../../support/listen.js'
import { ask, type Seller, signFor } from '../../support/seller.js'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

const TERMS = { price: '$0.01', path: '/x', methods: 'GET', stream: true } as const

const APPS: Readonly<Record<string, (gate: Gate, source: PassThrough) => Promise<string>>> = {
  Express: (gate, source) =>
    listen(express().get('/x', gate.express(TERMS), (_, res) => void pipeline(source, res, () => {}))),
  Koa: (gate, source) =>
    listen(
      Object.assign(new Koa(), { silent: true })
        .use(gate.koa(TERMS))
        .use(ctx => {
          ctx.body = source
        })
        .callback(),
    ),
  async Fastify(gate, source) {
    const app = fastify({ forceCloseConnections: true })
    app.get(
      '/x',
      gate.fastify(TERMS, async () => source),
    )
    closing(app)
    return app.listen()
  },
}

it.each(Object.entries(APPS))('%s', async (name, open) => {
  const facilitator = heldFacilitator()
  facilitator.serves(sandbox)
  const options = {
    facilitatorUrl: await facilitator.url,
    algodUrl: sandbox.algodUrl,
    shutdownTimeoutMs: 100,
  }
  const about = { name: 'Gated', handle: `settling-${name.toLowerCase()}`, description: 'Has routes.' }
  const payTo = sandbox.seller.address
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  const ended: EndedCall[] = []
  const stores = { runs: { list: () => [], ended: (call: EndedCall) => void ended.push(call) } }
  const gate = createGate({ ...about, network: 'testnet', payTo }, { ...options, logger, stores })
  closing({ close: () => gate.shutdown() })
  const source = new PassThrough()
  source.write('once')
  const url = `${await open(gate, source)}/x`
  const before = sandbox.balance(payTo).usdc!
  const payment = await signFor({ sandbox } as Seller, url, { method: 'GET' })
  const settling = facilitator.hold('/settle', {}, { landed: true })
  const paid = ask(url, { method: 'GET', headers: payment })
  await settling.arrived
  source.destroy(new Error('no more'))
  await new Promise(setImmediate)
  settling.answer()
  const answer = await paid
  expect([answer.status, answer.headers.has('payment-response')]).toEqual([200, true])
  await expect(answer.text()).rejects.toThrow()
  expect(sandbox.balance(payTo).usdc! - before).toBe(10_000n)
  await expect.poll(() => ended.at(-1)?.brokenBy).toBe('seller')
})
