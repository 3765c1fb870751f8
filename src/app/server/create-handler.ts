/** One agent for every host: Node, Koa and Express, and runtimes and frameworks with `fetch`. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { turns } from '#platform'
import { fetchHost } from '../../adapters/http/fetch-host.js'
import { koaHost } from '../../adapters/http/koa-host.js'
import type { Koa } from '../../adapters/http/koa-request.js'
import { pathOf } from '../../adapters/http/route-table.js'
import { assemble, type Lasting } from './assemble.js'
import { createDrain, type ShutdownReport } from './drain.js'
import type { Settings } from './options/server-settings.js'
import { type BesideTheCore, environmentOf } from './server-environment.js'

/** An agent that answers requests of any host. Its functions need no `this`. */
export interface AgentHandler {
  /**
   * Answers a web-standard request, unknown paths with 404. For Bun, Deno and Workers, and for frameworks such as Hono
   * and Next. It takes `basePath` for the only prefix.
   *
   * @example
   * export default { fetch: createHandler(agent).fetch }
   */
  fetch(request: Request): Promise<Response>
  /**
   * Answers a request of `node:http`, `node:http2` or Express. Leaves unknown paths to `next`; without one, answers them with
   * 404.
   *
   * @example
   * import { createServer } from 'node:http'
   * import { createHandler } from '@svc/sdk'
   * createServer(createHandler(agent).node).listen(4021)
   */
  node(
    req: IncomingMessage | Http2ServerRequest,
    res: ServerResponse | Http2ServerResponse,
    next?: (cause?: unknown) => void,
  ): void
  /** Makes a Koa middleware, which leaves unknown paths to the next one. */
  koa(): Koa.Middleware
  /**
   * Stops accepting calls (503 `shutting_down`), waits for running calls, cuts calls that outlast
   * `shutdownTimeoutMs`, and closes what the agent has opened. A second call cuts at once. Handles no signals and
   * closes no server: both are the host's.
   */
  shutdown(reason?: string): Promise<ShutdownReport>
}

export type HandlerParts = ReturnType<typeof handlerParts>

/** The handler, and what `serve` and `createServer` need of it. */
export function handlerParts(settings: Settings, beside: BesideTheCore, lasting?: Lasting) {
  const { clientAddress, logger } = settings
  const around = environmentOf(settings, beside)
  const drain = createDrain(settings.shutdownTimeoutMs, around.clock)
  const parts = assemble(settings, drain, around, lasting)
  const { table, sent, endStreams, closeRemotes, closeObservers, ...sold } = parts
  const turnEnd = turns()
  const host = koaHost(table, logger, turnEnd)
  const { app, middleware } = host
  const listener = app.callback()
  const byFetch = fetchHost(table, { clientAddress, logger, clock: around.clock, turnEnd })
  const isKnown = (path: string) => table.find('GET', path) !== undefined
  let report: Promise<ShutdownReport> | undefined
  return {
    ...sold,
    app,
    /** Whether this path is answered here. */
    isKnown,
    /** Resolves when no call is at work, the stores have answered how all of them ended, and the chain where that was in doubt. */
    empty: () => drain.empty().then(sent),
    /** How many calls are at work. */
    inFlight: drain.count,
    host,
    answerFetch: byFetch.answer,
    fetch: byFetch.handle,
    node: ((req, res, next?) => {
      if (next !== undefined && !isKnown(pathOf(req.url!))) next()
      // Koa's types know HTTP/1 only. Koa itself handles HTTP/2 too.
      else void listener(req as IncomingMessage, res as ServerResponse)
    }) satisfies AgentHandler['node'],
    koa: () => middleware,
    /** As the handler's own; `endConnections` runs when no call is left, and before what the agent has opened closes. */
    shutdown(reason = 'shutdown', endConnections?: (ended: ShutdownReport) => Promise<void>) {
      const drained = drain.shutdown(reason)
      report ??= drained.then(async ended => {
        endStreams()
        await endConnections?.(ended)
        const closed = closeRemotes()
        await closeObservers()
        // Do not wait for a submitted payment twice: it is recorded, and the next call finds it.
        if (ended.outcome === 'drained') await closed
        return ended
      })
      return report
    },
  }
}
