/** The routes of an upstream that are let through unpaid. What is sold and more specific goes before them. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { patternMatcher } from '../adapters/http/match-path.js'
import { errorBody, HttpError } from '../adapters/http/route.js'
import { pathOf } from '../adapters/http/route-table.js'
import { type EndpointDef, TIMEOUT_DEFAULT_MS } from '../domain/endpoint.js'
import type { SvcError } from '../domain/errors.js'
import { type Method, methodsOf, paramsIn, pathOfEndpoint } from '../domain/path-pattern.js'
import { systemClock } from '../ports/clock.js'
import type { FreeRoute } from './terms.js'

/**
 * Answers a request of a free route, and says whether it is one.
 *
 * @param routes of the agent, which go before patterns; a free route may name one of them
 */
export function letThrough(
  free: readonly FreeRoute[],
  sold: readonly EndpointDef[],
  routes: readonly string[],
): (req: IncomingMessage, res: ServerResponse) => boolean {
  const all = [...sold, ...(free as readonly (FreeRoute & EndpointDef)[])]
  const match = patternMatcher(all)
  const exact = new Map<string, EndpointDef>()
  for (const def of all.filter(located => paramsIn(pathOfEndpoint(located)).length === 0))
    for (const method of methodsOf(def)) exact.set(`${method} ${pathOfEndpoint(def)}`, def)
  const own = new Set(routes)
  const routeOf = (method: string, path: string): EndpointDef | undefined => {
    const known = exact.get(`${method} ${path}`)
    if (known !== undefined || own.has(`${method} ${path}`)) return known
    // A server that decodes twice could read it as a path that is sold.
    if (/%25[0-9a-f]{2}/i.test(path)) return undefined
    try {
      return match(path, method).find(({ def }) => methodsOf(def).includes(method as Method))?.def
    } catch (cause) {
      // It can be read in two ways. The agent refuses it, or does not know it.
      if (cause instanceof HttpError) return undefined
      throw cause
    }
  }
  return (req, res) => {
    const method = req.method === 'HEAD' ? 'GET' : req.method!
    const route = free.length === 0 ? undefined : routeOf(method, pathOf(req.url!))
    if (route === undefined || !('forward' in route)) return false
    answer(route as EndpointDef & FreeRoute, req, res).catch((cause: Partial<SvcError>) => {
      if (res.headersSent) return void res.destroy()
      const { status = 500, code = 'internal_error', message = '' } = cause
      res.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', Connection: 'close' })
      res.end(JSON.stringify(errorBody(code, status === 500 ? 'Something broke on our side.' : message)))
    })
    return true
  }
}

/** A body passes as it comes: the server's own limits count for it. */
async function answer({ forward }: FreeRoute, req: IncomingMessage, res: ServerResponse) {
  const { 'content-length': length, 'transfer-encoding': coding, host = '' } = req.headers
  let isLate = false
  let clearLimit = () => {}
  const forwarded = await forward({
    method: req.method!,
    target: req.url!,
    headers: req.headers,
    body: coding !== undefined || Number(length) > 0 ? req : null,
    baseUrl: `http://${host}`,
    clientAddress: req.socket.remoteAddress,
    onGone(listener) {
      res.once('close', listener)
      clearLimit = systemClock.after(TIMEOUT_DEFAULT_MS, () => {
        isLate = true
        listener()
      })
    },
  })
    .catch(cause => {
      throw isLate
        ? new HttpError(504, 'handler_timeout', 'The server behind this one took too long.')
        : cause
    })
    .finally(() => clearLimit())
  const { status, headers, cookies = [], body } = forwarded.answer
  res.writeHead(status, { ...headers, ...(cookies.length > 0 && { 'set-cookie': [...cookies] }) })
  const { source } = forwarded
  if (source === undefined) return void res.end(body)
  async function* parts() {
    for (let next = await source!.next(); !next.done; next = await source!.next()) yield next.bytes!
  }
  await pipeline(Readable.from(parts(), { objectMode: false }), res)
}
