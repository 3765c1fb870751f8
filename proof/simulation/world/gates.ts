/** The seller's endpoints as routes of an app of its own, each behind a gate: of a Koa app on Node, or of functions for `fetch`. */

import { Readable } from 'node:stream'
import Koa from 'koa'
import { type AgentDef, defineEndpoint, type EndpointDef, SvcError } from '../../../src/index.js'
import { gateOver } from '../../../src/simulation-parts.js'
import type { Sold } from './agents.js'
import type { Host } from './seller.js'

/** What a gate needs of the agent beside which it stands. */
export type Parts = Parameters<typeof gateOver>[0]
type Settings = Parameters<typeof gateOver>[1]

/** The agent without the endpoints that are routes of its app, which register themselves in this list. */
export function gatedAgent(agent: AgentDef): AgentDef & { readonly endpoints: EndpointDef[] } {
  return { ...agent, endpoints: agent.endpoints.filter(({ name }) => name === 'balance') }
}

export function gatedKoa(
  sold: readonly Sold[],
  parts: Parts,
  settings: Settings,
  endpoints: EndpointDef[],
): Host['listener'] {
  const gate = gateOver(parts, settings, endpoints, defineEndpoint as never)
  const routes = routesOf(sold, (terms, handler): Koa.Middleware => {
    const before = gate.koa(terms)
    return context => before(context, () => written(context, handler(context.state.svc)))
  })
  const app = new Koa()
  app.silent = true
  app.use((context, next) => (routes.get(context.path) ?? parts.koa())(context, next))
  return app.callback()
}

export function gatedFetch(
  sold: readonly Sold[],
  parts: Parts,
  settings: Settings,
  endpoints: EndpointDef[],
): Host['fetch'] {
  const gate = gateOver(parts, settings, endpoints, defineEndpoint as never)
  const routes = routesOf(sold, (terms, handler) =>
    gate.fetch(terms, async (_, svc) => responseOf(handler(svc))),
  )
  return request => (routes.get(new URL(request.url).pathname) ?? parts.fetch)(request)
}

/** Each by its path. */
function routesOf<R>(sold: readonly Sold[], routeOf: (terms: never, handler: Sold['handler']) => R) {
  return new Map(
    sold.map(({ handler, ...options }) => {
      const path = `/${options.name}`
      return [path, routeOf({ ...options, path, methods: 'POST', bodyType: 'json' } as never, handler)]
    }),
  )
}

/** What the app answers where its route fails in words. What it throws else is Koa's to answer. */
async function written(context: Koa.Context, answering: Promise<unknown>): Promise<void> {
  const { status, headers, body } = await responseOf(answering)
  context.status = status
  for (const [name, value] of headers) context.set(name, value)
  context.body = body === null ? '' : Readable.fromWeb(body as never)
}

/** What a route or a server behind this one answers for a handler. */
export async function responseOf(answering: Promise<unknown>): Promise<Response> {
  try {
    const answer = await answering
    if (answer instanceof Response) return answer
    if (answer === undefined) return new Response('nothing is here', { status: 404 })
    if (!(Symbol.asyncIterator in Object(answer))) return Response.json(answer)
    const events = ReadableStream.from(eventsOf(answer as AsyncIterable<unknown>))
    return new Response(events, { headers: { 'content-type': 'text/event-stream' } })
  } catch (error) {
    if (error instanceof SvcError)
      return Response.json({ error: { code: error.code } }, { status: error.status ?? 500 })
    throw error
  }
}

async function* eventsOf(answer: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  for await (const event of answer) yield Buffer.from(`data: ${JSON.stringify(event)}\n\n`)
}
