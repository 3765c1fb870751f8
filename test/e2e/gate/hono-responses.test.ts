/** What a route in Hono's server on Node answers is sold as it is, whether that server has made a Response of the web or not yet. */
import { getRequestListener } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { createGate } from '../../../src/index.js'
import { type Sandbox, startSandbox } from '../../../src/sandbox.js'
import { closing } from '../../support/closing.js'
import { listen } from '../../support/listen.js'
import { pay } from '../../support/seller.js'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

const TYPED = { 'content-type': 'text/x; charset=utf-8' }
const reused = new TextEncoder().encode('bytes')

interface Answered {
  readonly answer: (c: Context) => Response
  readonly text: string
  readonly type: string
  readonly status?: number
  readonly isMade?: true
}

const ROUTES: Readonly<Record<string, Answered>> = {
  json: { answer: c => c.json({ said: 'é' }), text: '{"said":"é"}', type: 'application/json' },
  text: { answer: c => c.text('plain'), text: 'plain', type: 'text/plain; charset=UTF-8' },
  bytes: {
    answer() {
      const response = new Response(reused, { headers: TYPED })
      // Its buffer is the app's, which may use it again.
      setImmediate(() => reused.fill(0))
      return response
    },
    text: 'bytes',
    type: TYPED['content-type'],
  },
  malformed: {
    answer: () => new Response('\ud800', { headers: TYPED }),
    text: '\ufffd',
    type: TYPED['content-type'],
  },
  changed: {
    answer(c) {
      const response = new Response('first', { headers: TYPED })
      response.headers.set('content-type', 'text/y')
      c.header('x-own', 'yes')
      return response
    },
    text: 'first',
    type: 'text/y',
  },
  record: {
    answer: () => new Response('given', { headers: { 'Content-Type': 'text/z', 'x-n': 7 as never } }),
    text: 'given',
    type: 'text/z',
  },
  unnamed: {
    answer: () => new Response('lost', { headers: { 'content-type': 'text/z', 'no name': '1' } }),
    text: expect.stringContaining('handler_error') as never,
    type: 'application/json; charset=utf-8',
    status: 500,
  },
  nothing: {
    answer: () => undefined as never,
    text: expect.stringContaining('handler_error') as never,
    type: 'application/json; charset=utf-8',
    status: 500,
  },
  untyped: {
    answer: () => new Response('guessed', { headers: { 'x-own': 'yes' } }),
    text: 'guessed',
    type: 'text/plain;charset=UTF-8',
    isMade: true,
  },
  created: { answer: c => c.json({}, 201), text: '{}', type: 'application/json', status: 201, isMade: true },
}

it.each(Object.entries(ROUTES))('%s', async (_, { answer, text, type, status = 200, isMade = false }) => {
  const { facilitatorUrl, algodUrl, seller } = sandbox
  const about = { name: 'Responses', handle: 'responses', description: 'Of Hono' } as const
  const gate = createGate(
    { ...about, network: 'testnet', payTo: seller.address },
    { facilitatorUrl, algodUrl, advanced: { clock: {} } },
  )
  closing({ close: () => gate.shutdown() })
  const app = new Hono()
  app.get('/x', gate.hono({ price: '$0.01' }), answer)
  const url = await listen(getRequestListener(app.fetch))
  const made = vi.spyOn(Object.getPrototypeOf(globalThis.Response.prototype), 'arrayBuffer')
  const before = sandbox.balance(seller.address).usdc!
  const paid = await pay({ sandbox } as never, `${url}/x`, { method: 'GET' })
  expect([paid.status, paid.headers.get('content-type'), await paid.text()]).toEqual([status, type, text])
  expect(made.mock.calls.length > 0).toBe(isMade)
  expect(sandbox.balance(seller.address).usdc! - before).toBe(status < 400 ? 10_000n : 0n)
  made.mockRestore()
})
