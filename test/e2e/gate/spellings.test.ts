/** A gate before routes sees one spelling of its path; what stands behind it may read others. `gate.documents` refuses those. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { getRequestListener } from '@hono/node-server'
import Router, { type RouterMiddleware } from '@koa/router'
import express from 'express'
import { Hono } from 'hono'
import Koa from 'koa'
import mount from 'koa-mount'
import { expect, it } from 'vitest'
import { createGate, type Gate } from '../../../src/index.js'
import { closing } from '../../support/closing.js'
import { listen } from '../../support/listen.js'

const TERMS = { path: '/p/x', methods: 'GET', price: '$0.01' } as const
const SOLD = 'what is sold'

const APPS: Readonly<Record<string, (gate: Gate) => Promise<string>>> = {
  'Express, before a route': gate => {
    const app = express().use(gate.documents.express).use('/p/x', gate.express(TERMS))
    return listen(app.get('/p/:id', (req, res) => void res.send(answerTo(req.params.id))))
  },
  'Express, in a route that leaves its answer to a folder of files': gate => {
    const folder = mkdtempSync(join(tmpdir(), 'gate-'))
    closing({ close: () => rmSync(folder, { recursive: true }) })
    for (const id of ['x', 'y']) writeFileSync(join(folder, id), answerTo(id))
    const app = express().use(gate.documents.express).get('/p/x', gate.express(TERMS))
    return listen(app.use('/p', express.static(folder)))
  },
  '@koa/router, before a route': gate => {
    const router = new Router().use('/p/x', gate.koa(TERMS) as RouterMiddleware)
    router.get('/p/:id', ctx => {
      ctx.body = answerTo(ctx.params.id)
    })
    return listen(new Koa().use(gate.documents.koa).use(router.routes()).callback())
  },
  'koa-mount, before a route': gate => {
    const router = new Router().get('/p/:id', ctx => {
      ctx.body = answerTo(ctx.params.id)
    })
    const app = new Koa().use(gate.documents.koa).use(mount('/p/x', gate.koa(TERMS) as Koa.Middleware))
    return listen(app.use(router.routes()).callback())
  },
  'Hono, before a route': gate => {
    const app = new Hono().use(gate.documents.hono).use('/p/x', gate.hono(TERMS))
    app.get('/p/:id', c => c.text(answerTo(c.req.param('id'))))
    return listen(getRequestListener(app.fetch))
  },
}

function answerTo(id: string | undefined): string {
  return id === 'x' ? SOLD : `free ${id}`
}

async function opened(open: (gate: Gate) => Promise<string>) {
  const gate = createGate(
    {
      name: 'Gated',
      handle: 'gated',
      description: 'Has routes.',
      network: 'testnet',
      payTo: `${'A'.repeat(52)}Y5HFKQ`,
    },
    { facilitatorUrl: 'http://127.0.0.1:9', algodUrl: 'http://127.0.0.1:9' },
  )
  closing({ close: () => gate.shutdown() })
  const url = new URL(await open(gate))
  /** As it is written: `fetch` would mend dots. */
  return (path: string) =>
    new Promise<{ status: number; body: string }>((resolve, reject) => {
      get({ host: url.hostname, port: url.port, path, agent: false }, answer => {
        text(answer).then(body => resolve({ status: answer.statusCode!, body }), reject)
      }).once('error', reject)
    })
}

/** Hono's host on Node makes them the gate's own path, or refuses them itself. */
const SEEN_BY_HOST = ['/p/./x', '/p/%2e/x', '/p/y/../x', '/p\\x']
const SPELLINGS = [...SEEN_BY_HOST, '/p/%78', '/%70/x', '/p//x', '//p/x', '/p/%78?a=1']

it.each(Object.entries(APPS))(
  'a gate of %s, is behind its documents: no spelling of its path is free',
  async (name, open) => {
    const ask = await opened(open)
    expect((await ask('/p/x')).status).toBe(402)
    for (const path of SPELLINGS) {
      const { status, body } = await ask(path)
      expect([path, status < 300, body.includes(SOLD)]).toEqual([path, false, false])
      if (name.startsWith('Hono') && SEEN_BY_HOST.includes(path)) continue
      expect([path, status]).toEqual([path, 400])
      expect(JSON.parse(body)).toMatchObject({ error: { code: 'invalid_path' } })
    }
    for (const path of ['/p/y', '/p/%79', '/p/y?p=/p/%78', '/health'])
      expect([path, (await ask(path)).status]).toEqual([path, 200])
    expect((await ask('/p/%zz')).status).not.toBe(500)
    expect((await ask('/q/%78')).status).toBe(404)
  },
)

it('a path that two gates could take is refused, and one that a pattern takes alone is not', async () => {
  const ask = await opened(gate => {
    const answers: express.RequestHandler = (req, res) => void res.send(req.params.id)
    const app = express().use(gate.documents.express)
    app.get('/p/x', gate.express({ ...TERMS, price: '$5' }), answers)
    return listen(app.get('/p/:id', gate.express({ ...TERMS, path: '/p/:id' }), answers))
  })
  expect((await ask('/p/%78')).status).toBe(400)
  expect((await ask('/p/a%20b')).status).toBe(402)
})
