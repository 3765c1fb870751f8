/** The same app in each framework, with a gate before its routes. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { getRequestListener } from '@hono/node-server'
import Router, { type RouterMiddleware } from '@koa/router'
import express from 'express'
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import type { Gate, GateTerms, HandlerContext } from '../../../src/index.js'

/** What a route does, in words that each app says in its framework. */
export type Does =
  | {
      readonly answers: unknown
      readonly status?: number
      readonly headers?: Record<string, string | string[]>
    }
  | { readonly throws: Error }
  | { readonly streams: AsyncIterable<string> }
  | { readonly never: true }

export interface Seen {
  readonly params: Record<string, string>
  readonly body: string
  readonly svc: HandlerContext
}

/** Run by the routes, in place of what an app would do. */
export type Work = (seen: Seen) => Does | Promise<Does>

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly terms: GateTerms
  readonly work: Work
}

export interface App {
  readonly url: string
  close(): unknown
}

export type OpenApp = (gate: Gate, routes: readonly Route[]) => Promise<App>

const NEVER = new Promise<never>(() => {})

async function listening(server: Server): Promise<App> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

function expressApp(
  before: readonly express.RequestHandler[] = [],
  behind: readonly express.RequestHandler[] = [],
) {
  return ((gate, routes) => {
    const app = express()
    for (const middleware of before) app.use(middleware)
    app.use(gate.documents.express)
    for (const { method, path, terms, work } of routes) {
      app[method.toLowerCase() as 'get'](path, gate.express(terms), ...behind, async (req, res) => {
        const body = req.body === undefined ? await text(req) : asText(req.body)
        const does = await work({
          params: req.params as Record<string, string>,
          body,
          svc: (req as never as Seen).svc,
        })
        if ('never' in does) return
        if ('throws' in does) throw does.throws
        if ('streams' in does) {
          res.type('text/event-stream')
          for await (const piece of does.streams) res.write(piece)
          return void res.end()
        }
        res.set(does.headers ?? {})
        if (does.status !== undefined) res.status(does.status)
        if (does.answers instanceof Uint8Array) res.end(does.answers)
        else res.json(does.answers)
      })
    }
    return listening(createServer(app))
  }) satisfies OpenApp
}

function asText(body: unknown): string {
  return body instanceof Uint8Array
    ? Buffer.from(body).toString()
    : typeof body === 'string'
      ? body
      : JSON.stringify(body)
}

const koaApp: OpenApp = (gate, routes) => {
  const app = new Koa()
  app.silent = true
  const router = new Router()
  for (const { method, path, terms, work } of routes) {
    router.register(
      path,
      [method],
      [
        gate.koa(terms) as RouterMiddleware,
        async ctx => {
          const does = await work({ params: ctx.params, body: await text(ctx.req), svc: ctx.state.svc })
          if ('never' in does) await NEVER
          if ('throws' in does) throw does.throws
          if ('streams' in does) {
            ctx.type = 'text/event-stream'
            ctx.body = Readable.from(does.streams)
          } else if ('answers' in does) {
            ctx.set(does.headers ?? {})
            ctx.body = does.answers
            if (does.status !== undefined) ctx.status = does.status
          }
        },
      ],
    )
  }
  app.use(gate.documents.koa)
  app.use(router.routes())
  return listening(createServer(app.callback()))
}

const honoApp: OpenApp = (gate, routes) => {
  const app = new Hono<{ Variables: { svc: HandlerContext } }>()
  app.use(gate.documents.hono)
  for (const { method, path, terms, work } of routes) {
    app.on(method, path, gate.hono(terms), async c => {
      const does = await work({ params: c.req.param(), body: await c.req.text(), svc: c.get('svc') })
      if ('never' in does) return NEVER
      if ('throws' in does) throw does.throws
      return responseOf(does)
    })
  }
  return listening(createServer(getRequestListener(app.fetch)))
}

function responseOf(does: Exclude<Does, { never: true } | { throws: Error }>): Response {
  if ('streams' in does) {
    const stream = Readable.toWeb(Readable.from(does.streams).map(piece => Buffer.from(piece)))
    return new Response(stream as never, { headers: { 'content-type': 'text/event-stream' } })
  }
  const { answers, status = 200 } = does
  const given = Object.entries(does.headers ?? {})
  const headers = given.flatMap(([name, value]) =>
    [value].flat().map(each => [name, each] as [string, string]),
  )
  if (answers instanceof Uint8Array) return new Response(Buffer.from(answers), { status, headers })
  if (status === 304) return new Response(null, { status, headers })
  return Response.json(answers, { status, headers })
}

const fastifyApp: OpenApp = async (gate, routes) => {
  const app = fastify({ forceCloseConnections: true })
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) => done(null, body))
  app.addHook('onRequest', gate.documents.fastify)
  for (const { method, path, terms, work } of routes) {
    const run = async (request: FastifyRequest, reply: FastifyReply) => {
      const body = request.body === undefined || request.body === null ? '' : asText(request.body)
      const svc = (request.raw as never as Seen).svc
      const does = await work({ params: request.params as Record<string, string>, body, svc })
      if ('never' in does) await NEVER
      if ('throws' in does) throw does.throws
      if ('streams' in does) return reply.type('text/event-stream').send(Readable.from(does.streams))
      if (!('answers' in does)) return
      reply.headers(does.headers ?? {})
      if (does.status !== undefined) reply.code(does.status)
      return does.answers instanceof Uint8Array
        ? reply.type('application/octet-stream').send(Buffer.from(does.answers))
        : reply.send(does.answers)
    }
    app.route({ method, url: path, handler: gate.fastify(terms, run) })
  }
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`, close: () => app.close() }
}

/** A router of one's own over the web's requests, as Next's folders are. */
const fetchApp: OpenApp = (gate, routes) => {
  const table = routes.map(({ method, path, terms, work }) => ({
    method,
    pattern: new RegExp(`^${path.replace(/:(\w+)/g, '(?<$1>[^/]+)')}/?$`, 'i'),
    answer: gate.fetch({ ...terms, path }, async (request, svc) => {
      const does = await work({ params: svc.params, body: await request.text(), svc })
      if ('never' in does) return NEVER
      if ('throws' in does) throw does.throws
      return responseOf(does)
    }),
  }))
  return listening(
    createServer(
      getRequestListener(request => {
        const { pathname } = new URL(request.url)
        for (const { method, pattern, answer } of table) {
          const match = pattern.exec(pathname)
          if (match && method === request.method) return answer(request)
        }
        return gate.documents.fetch(request)
      }),
    ),
  )
}

export const APPS: Readonly<Record<string, OpenApp>> = {
  Express: expressApp(),
  'Express, behind its parsers': expressApp([express.json(), express.text(), express.raw({ type: '*/*' })]),
  'Express, with parsers behind': expressApp(
    [],
    [express.json(), express.text(), express.raw({ type: '*/*' })],
  ),
  Koa: koaApp,
  Hono: honoApp,
  Fastify: fastifyApp,
  fetch: fetchApp,
}
