/** The routes beside the paid ones: each may be turned off, and those at the root may be left to the app that mounts the agent. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import { afterAll, describe, expect, it } from 'vitest'
import { createHandler, defineAgent, defineEndpoint, type HandlerOptions } from '../../src/index.js'

const agent = defineAgent({
  name: 'Doors',
  handle: 'doors',
  description: 'Works.',
  payTo: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ',
  network: 'testnet',
  endpoints: [defineEndpoint({ name: 'work', price: '$0.01', handler: () => 'done' })],
})
const closing: (() => unknown)[] = []
afterAll(() => Promise.all(closing.map(close => close())))

function handlerWith(options: HandlerOptions) {
  // No request leaves this machine: nothing listens there.
  const nobody = 'http://127.0.0.1:1'
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  const handler = createHandler(agent, { facilitatorUrl: nobody, algodUrl: nobody, logger, ...options })
  closing.push(() => handler.shutdown())
  return handler
}

function asking(options: HandlerOptions) {
  const { fetch } = handlerWith(options)
  return (path: string, init: RequestInit = {}) => fetch(new Request(`http://localhost${path}`, init))
}

const POST = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
const CARDS = ['/.well-known/agent.json', '/.well-known/agent-card.json']
const DOORS: [keyof NonNullable<HandlerOptions['doors']>, [string, RequestInit?][], string[]][] = [
  ['a2a', [['/a2a'], ['/a2a', POST], ...CARDS.map(path => [path] as [string])], ['a2a', 'agent-card.json']],
  ['mcp', [['/mcp', POST]], ['/mcp']],
  ['metrics', [['/metrics']], ['/metrics']],
  ['runs', [['/_svc/runs']], ['/_svc/runs']],
]

describe('a door that is turned off', () => {
  for (const [door, routes, names] of DOORS) {
    it(`${door}: is not there, and no document names it`, async () => {
      const [on, off] = [asking({}), asking({ doors: { [door]: false } })]
      for (const [path, init] of routes) {
        expect([path, (await on(path, init)).status]).not.toEqual([path, 404])
        expect([path, (await off(path, init)).status]).toEqual([path, 404])
      }
      const html = { headers: { accept: 'text/html' } }
      const documents: [string, RequestInit?][] = [
        ['/'],
        ['/', html],
        ['/.well-known/svc.json'],
        ['/openapi.json'],
      ]
      const cards = door === 'a2a' ? [] : CARDS.map(path => [path] as [string])
      for (const [path, init] of [...documents, ...cards, ['/.well-known/x402'] as [string]]) {
        const answer = await off(path, init)
        expect(answer.status).toBe(200)
        const text = await answer.text()
        for (const name of names) expect(text).not.toContain(name)
      }
      expect((await off('/work', POST)).status).toBe(402)
    })
  }

  it('the card names MCP where it is on', async () => {
    expect(await (await asking({})('/.well-known/agent-card.json')).text()).toContain('/mcp')
  })
})

describe('the paths at the root, left to the app', () => {
  const ROOT = ['/', '/health', '/ready', '/metrics']
  const doors = { root: false }

  it.each(['', '/api'])('are not ours; ours are under /_svc, with the base path %j', async basePath => {
    const ask = asking({ basePath, doors })
    for (const prefix of new Set(['', basePath])) {
      for (const path of ROOT) {
        expect([prefix + path, (await ask(prefix + path)).status]).toEqual([prefix + path, 404])
        const { status } = await ask(`${prefix}/_svc${path}`)
        expect([path, status]).toEqual([path, path === '/ready' ? 503 : 200])
      }
      const page = await ask(`${prefix}/_svc/`, { headers: { accept: 'text/html' } })
      expect(await page.text()).toContain(`href="http://localhost${prefix}/.well-known/svc.json"`)
      expect(await (await ask(`${prefix}/_svc/`)).json()).toMatchObject({
        openapi: `http://localhost${prefix}/openapi.json`,
      })
    }
    expect((await ask(`${basePath}/work`, POST)).status).toBe(402)
  })

  it('are answered by a Koa app that has them, and by a host of Node', async () => {
    const handler = handlerWith({ doors })
    const koa = new Koa()
    koa.use(handler.koa()).use(ctx => {
      ctx.body = `the app's ${ctx.path}`
    })
    const node = createServer((req, res) => handler.node(req, res, () => res.end(`the app's ${req.url}`)))
    for (const server of [koa.listen(0), node.listen(0)]) {
      closing.push(() => server.close())
      if (!server.listening) await once(server, 'listening')
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      for (const path of ROOT) expect(await (await fetch(origin + path)).text()).toBe(`the app's ${path}`)
      expect(await (await fetch(`${origin}/_svc/health`)).json()).toMatchObject({ agent: 'doors' })
    }
  })
})
