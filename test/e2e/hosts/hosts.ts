/** The hosts that a seller may have, each with an agent in it as its guide shows. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener, serve as serveHono } from '@hono/node-server'
import express from 'express'
import fastify, { type FastifyRequest } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import mount from 'koa-mount'
import type { AgentHandler } from '../../../src/index.js'

export interface Host {
  readonly name: string
  /** Where the agent's paths begin. */
  readonly prefix: string
  /** The option that tells the agent its prefix, where the host does not. */
  readonly basePath?: string
  /** What the host answers to a path that it does not know. */
  readonly notFound: string
  /** Whether the agent answers the path at which its paths begin; elsewhere the app around it does. */
  readonly ownsRoot: boolean
  open(handler: AgentHandler): Promise<{ url: string; close(): unknown }>
}

export const OWN_404 = 'the host knows no such path'
const OURS = '"not_found"'

export const HOSTS: readonly Host[] = [
  {
    name: 'node:http',
    prefix: '',
    notFound: OURS,
    ownsRoot: true,
    open: handler => listening(createServer((req, res) => handler.node(req, res))),
  },
  {
    name: 'Express, at a path of its own',
    prefix: '/paid',
    notFound: OWN_404,
    ownsRoot: false,
    open(handler) {
      const app = express()
      app.use('/paid', handler.node)
      app.use((_, res) => void res.status(404).send(OWN_404))
      return listening(createServer(app))
    },
  },
  {
    name: 'Express, behind its parser of JSON',
    prefix: '',
    notFound: OWN_404,
    ownsRoot: false,
    open(handler) {
      const app = express()
      app.use(express.json())
      app.use(handler.node)
      app.use((_, res) => void res.status(404).send(OWN_404))
      return listening(createServer(app))
    },
  },
  {
    name: 'Koa',
    prefix: '',
    notFound: OWN_404,
    ownsRoot: false,
    open(handler) {
      const app = new Koa().use(handler.koa())
      return listening(createServer(app.use(koaNotFound).callback()))
    },
  },
  {
    name: 'Koa, at a path of its own',
    prefix: '/paid',
    notFound: OWN_404,
    ownsRoot: false,
    open(handler) {
      const app = new Koa().use(mount('/paid', handler.koa()))
      return listening(createServer(app.use(koaNotFound).callback()))
    },
  },
  {
    name: 'Hono',
    prefix: '/paid',
    basePath: '/paid',
    notFound: OWN_404,
    ownsRoot: true,
    async open(handler) {
      const app = new Hono()
      app.all('/paid/*', c => handler.fetch(c.req.raw))
      app.notFound(c => c.text(OWN_404, 404))
      const server = serveHono({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server
      return listening(server)
    },
  },
  {
    name: 'Fastify',
    prefix: '/paid',
    basePath: '/paid',
    notFound: OWN_404,
    ownsRoot: true,
    async open(handler) {
      // After a call that it gave up, the fetch of Node 20 opens one more connection, and sends nothing: `close` would wait for it.
      const app = fastify({ forceCloseConnections: true })
      app.addContentTypeParser(['application/json', '*'], { parseAs: 'buffer' }, (_, body, done) =>
        done(null, body),
      )
      app.all('/paid/*', async (request, reply) => reply.send(await handler.fetch(webRequestOf(request))))
      app.setNotFoundHandler((_, reply) => reply.code(404).send(OWN_404))
      await app.listen({ port: 0, host: '127.0.0.1' })
      return { url: urlOf(app.server), close: () => app.close() }
    },
  },
  {
    name: 'a runtime with fetch',
    prefix: '',
    notFound: OURS,
    ownsRoot: true,
    open: handler => listening(createServer(getRequestListener(handler.fetch))),
  },
]

function webRequestOf({ raw, body, method, url, protocol, host }: FastifyRequest): Request {
  const headers = Object.entries(raw.headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((each): [string, string] => [name, each]),
  )
  const gone = new AbortController()
  raw.socket.once('close', () => gone.abort())
  return new Request(new URL(url, `${protocol}://${host}`), {
    method,
    headers,
    signal: gone.signal,
    ...(body instanceof Uint8Array && { body: new Uint8Array(body) }),
  })
}

const koaNotFound: Koa.Middleware = ctx => {
  ctx.status = 404
  ctx.body = OWN_404
}

async function listening(server: Server): Promise<{ url: string; close(): unknown }> {
  if (!server.listening) server.listen(0, '127.0.0.1')
  if (!server.listening) await once(server, 'listening')
  return {
    url: urlOf(server),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
