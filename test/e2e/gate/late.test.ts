/** A route that answers after its gate has, while middleware around both is at work: what it says then leaves by no way. */
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import { Hono } from 'hono'
import Koa from 'koa'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createGate, type Gate } from '../../../src/index.js'
import { type Sandbox, startSandbox } from '../../../src/sandbox.js'
import { closing } from '../../support/closing.js'
import { gate as door } from '../../support/gate.js'
import { listen } from '../../support/listen.js'
import { pay } from '../../support/seller.js'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

/** The gate has answered; the route has. */
type Doors = Readonly<Record<'gate' | 'route', ReturnType<typeof door>>>

const TERMS = { price: '$0.01', timeout: 1_000 }
const SECRET = { secret: 'paid' }

const LATE: Readonly<Record<string, (gate: Gate, doors: Doors) => Promise<string>>> = {
  Koa(gate, doors) {
    const app = new Koa()
    app.use(async (ctx, next) => {
      await next()
      if (ctx.status !== 504) return
      doors.gate.open()
      await doors.route.opened
    })
    app.use(gate.koa({ ...TERMS, method: 'GET', path: '/x' }))
    app.use(async ctx => {
      ctx.set('x-early', 'paid')
      await doors.gate.opened
      ctx.set('x-late', 'paid')
      ctx.body = SECRET
      ctx.status = 200
      doors.route.open()
    })
    return listen(app.callback())
  },
  Hono(gate, doors) {
    const app = new Hono()
    app.use(async (c, next) => {
      await next()
      if (c.res.status !== 504) return
      doors.gate.open()
      await doors.route.opened
    })
    app.get(
      '/x',
      gate.hono(TERMS),
      async (_, next) => {
        await next()
        // Behind the code of the gate that hears the route's end.
        setImmediate(doors.route.open)
      },
      async c => {
        await doors.gate.opened
        return c.json(SECRET)
      },
    )
    return listen(getRequestListener(app.fetch) as never)
  },
  Express(gate, doors) {
    const app = express()
    app.get('/x', gate.express(TERMS), async (_, res) => {
      res.set('x-early', 'paid')
      res.once('finish', doors.gate.open)
      await doors.gate.opened
      res.set('x-late', 'paid').json(SECRET)
    })
    return listen(app)
  },
}

it.each(Object.entries(LATE))('in %s', async (name, open) => {
  const { facilitatorUrl, algodUrl, seller } = sandbox
  const about = { name, handle: `late-${name.toLowerCase()}`, description: 'Is late.' }
  const gate = createGate(
    { ...about, network: 'testnet', payTo: seller.address },
    { facilitatorUrl, algodUrl, shutdownTimeoutMs: 100 },
  )
  closing({ close: () => gate.shutdown() })
  const url = await open(gate, { gate: door(), route: door() })
  const before = sandbox.balance(seller.address).usdc!
  const late = await pay({ sandbox } as never, `${url}/x`, { method: 'GET' })
  expect(late.status).toBe(504)
  expect(await late.json()).toMatchObject({ error: { code: 'handler_timeout' } })
  expect([late.headers.get('x-early'), late.headers.get('x-late')]).toEqual([null, null])
  expect(sandbox.balance(seller.address).usdc! - before).toBe(0n)
})
