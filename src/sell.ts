/** Sells servers that run already, for `svc sell`: one agent after another, as its terms change, over the same stores. */
import { Readable } from 'node:stream'
import type { NodeRequest } from './adapters/http/koa-request.js'
import { forwardable } from './adapters/http/paid-route.js'
import { rootOf } from './adapters/http/read-request.js'
import { HttpError, type Reply } from './adapters/http/reply.js'
import type { HostRequest, PassedRoute } from './adapters/http/route.js'
import { ajvValidator } from './adapters/validation/ajv.js'
import { ownerOf } from './app/charge/names-in-stores.js'
import { defineAgent, defineEndpoint } from './app/define-agent.js'
import { forwarder } from './app/forward-to-upstream.js'
import { lastingOf } from './app/server/assemble.js'
import { handlerParts } from './app/server/create-handler.js'
import type { ShutdownReport } from './app/server/drain.js'
import type { ServeOptions } from './app/server/options/server-options.js'
import { settingsOf } from './app/server/options/server-settings.js'
import { environmentOf } from './app/server/server-environment.js'
import type { AgentDef, AgentOptions } from './domain/agent.js'
import { type EndpointDef, type EndpointOptions, TIMEOUT_DEFAULT_MS } from './domain/endpoint.js'
import { firstName } from './domain/endpoint-lifecycle.js'
import type { JSONSchema } from './domain/endpoint-schemas.js'
import { SvcError } from './domain/errors.js'
import type { StreamSource } from './domain/handler.js'
import { jsonIn } from './domain/json.js'
import { checkedMethods, checkedPath, type Method, routeName, type Target } from './domain/path-pattern.js'
import { upstreamUrl } from './domain/upstream.js'
import { systemClock } from './ports/clock.js'
import { besideOf, listening, type SvcServer } from './serve.js'

/** @throws SvcError `invalid_options` for what is no JSON, and for what its schema does not describe */
export function checkedTerms(text: string, schema: object, file: string): Terms {
  const refuse = (why: string): never => {
    throw new SvcError(`${file}: ${why}`, 'invalid_options')
  }
  const terms = jsonIn(text) ?? refuse('it is not JSON')
  const checked = ajvValidator().compile(schema as JSONSchema, { coerce: false, allowSlow: true })(terms)
  if ('invalid' in checked)
    refuse(`${checked.invalid.message}${checked.invalid.field && ` (${checked.invalid.field})`}`)
  const { $schema: _, ...given } = terms as unknown as Terms & { $schema?: string }
  return given
}

export interface Sold extends SvcServer {
  /**
   * Sells by these terms from the next request on. Calls at work end by those that they began with.
   *
   * @throws as {@link sell}; then nothing has changed
   */
  reload(terms: Terms): void
}

/** @throws SvcError `invalid_options`, and an agent's, an endpoint's and a server's codes */
export function sell(terms: Terms, options: ServeOptions): Sold {
  const read = (given: Terms) => {
    const { agent, free } = soldBy(given)
    const settings = settingsOf(agent, options)
    const { handle, formerly, payTo, endpoints, balance } = agent
    const owner = ownerOf(settings.network, payTo, firstName(handle, formerly)).agent
    return { settings, free, owner, balance, names: endpoints.map(({ name }) => name) }
  }
  const first = read(terms)
  const atWork = (): number => [now, ...earlier].reduce((sum, each) => sum + each.inFlight(), 0)
  const sold = [...first.names]
  const beside = besideOf(sold)
  const lasting = lastingOf(first.settings, environmentOf(first.settings, beside), atWork)
  const nothing = async () => {}
  const kept = {
    ...lasting,
    openJournal: nothing,
    endStreams: nothing,
    close: nothing,
    closeRemotes: nothing,
  }
  const opened = ({ settings, free }: ReturnType<typeof read>) => ({
    settings,
    ...handlerParts(settings, { ...beside, passed: free }, kept),
    requests: new Set<unknown>(),
  })
  let now = opened(first)
  let ended: Promise<ShutdownReport> | undefined
  let sellsBalances = first.balance !== undefined
  lasting.openJournal()
  /** Those of earlier terms, while calls that began with them are at work. */
  const earlier = new Set<typeof now>()
  /** Only the end of the process cuts what was paid for. A request whose body is on its way is no call yet. */
  const leave = async (left: typeof now) => {
    if (left === now || left.requests.size > 0) return
    await left.empty()
    await left.shutdown('other terms')
    earlier.delete(left)
  }
  const server = listening(
    {
      ...now,
      node(req, res) {
        const begun = now
        begun.requests.add(res)
        res.once('close', () => void (begun.requests.delete(res) && leave(begun)))
        begun.node(req, res)
      },
      shutdown(reason, endConnections) {
        const all = Promise.all([now, ...earlier].map(each => each.shutdown(reason)))
        ended ??= all.then(async reports => {
          const worst = reports.find(({ outcome }) => outcome === 'timedOut') ?? reports[0]!
          const report = { ...worst, abandoned: reports.reduce((sum, each) => sum + each.abandoned, 0) }
          lasting.endStreams()
          await endConnections?.(report)
          const closed = lasting.closeRemotes()
          await lasting.close()
          // As at a handler's end: nothing waits twice for a submitted payment.
          if (report.outcome === 'drained') await closed
          return report
        })
        return ended
      },
    },
    options,
  )
  return Object.assign(server, {
    reload(changed: Terms) {
      const next = read(changed)
      const refuse = (why: string): never => {
        throw new SvcError(`${why}: start svc sell anew`, 'invalid_options')
      }
      if (ended) refuse('The server stops, and nothing would wait for what these terms sell')
      if (next.owner !== first.owner)
        refuse('Terms of another seller (payTo, network, handle), and what was bought stays with this one')
      if (sellsBalances && !next.balance)
        refuse('Balances were sold, and would pay for nothing under these terms, which have no balance')
      const added = next.names.filter(name => !sold.includes(name))
      if (added.length > 0 && options.journal !== undefined)
        refuse(`The journal says what is sold, and '${added[0]}' is new`)
      const before = now
      now = opened(next)
      sold.push(...added)
      sellsBalances ||= next.balance !== undefined
      earlier.add(before)
      void leave(before)
    },
  })
}

/** What is sold, and what is let through. `upstream` is for all routes that name none of their own. */
export interface Terms extends Omit<AgentOptions, 'endpoints'> {
  readonly upstream?: string
  readonly routes: readonly RouteTerms[]
}

/** `POST /v1/*`, and what a call costs; or that it is free. */
export interface RouteTerms
  extends Partial<Omit<EndpointOptions, 'handler' | 'path' | 'methods' | 'method'>> {
  readonly route: string
  readonly free?: boolean
}

/** @throws SvcError `invalid_options`, and an agent's and an endpoint's codes */
function soldBy({ upstream: common, routes, ...about }: Terms) {
  const free: PassedRoute[] = []
  const endpoints: EndpointDef[] = []
  for (const { route, free: isFree, ...terms } of routes) {
    const refuse = (why: string): never => {
      throw new SvcError(`The route '${route}': ${why}`, 'invalid_options')
    }
    const [, given = '', pattern = ''] =
      /^([A-Za-z,]+) +(\/\S*)$/.exec(route) ?? refuse("it is METHOD /path, such as 'POST /v1/*'")
    const path = checkedPath(pattern.replace(/\/\*$/, '/*rest'), refuse)
    const methods = checkedMethods({ methods: given.toUpperCase().split(',') as Method[] }, refuse)
    const upstream = terms.upstream ?? common ?? refuse('it has no upstream')
    const name = terms.name ?? routeName(methods, path.replace('/*rest', '/any'))
    if (terms.upstream === undefined && upstreamUrl(upstream, refuse).target !== undefined)
      refuse("the path of its server's URL would replace the route's own: give the origin alone")
    if (isFree !== true) endpoints.push(defineEndpoint({ ...terms, name, path, methods, upstream } as never))
    else if (Object.keys(terms).some(term => term !== 'upstream')) refuse('what is free has no terms')
    else {
      const send = forwarder(upstreamUrl(upstream, refuse))
      const at = (target: Target) => ({
        headers: [],
        isPassed: true,
        handle: (request: HostRequest) => passed(send, request, target),
      })
      free.push({ name, path, method: methods[0]!, methods, at })
    }
  }
  if (endpoints.length === 0)
    throw new SvcError("Nothing has a price: give --price 'POST /v1/*=$0.01'", 'invalid_options')
  return { agent: defineAgent({ ...about, endpoints }) as AgentDef, free }
}

/** Bodies pass as they come, in both directions: the server's own limits count for them. */
async function passed(
  send: ReturnType<typeof forwarder>,
  request: HostRequest,
  target: Target,
): Promise<Reply> {
  forwardable(request, target)
  const { method, carriesBody, caller } = request
  const body = carriesBody ? bodyOf(request as NodeRequest) : null
  let isLate = false
  let stopTimer = () => {}
  try {
    const { answer, source } = await send({
      method,
      target: request.target,
      headers: request.headers,
      body,
      baseUrl: rootOf(request),
      clientAddress: request.address,
      onGone(cancel) {
        caller.onGone(cancel)
        stopTimer = systemClock.after(TIMEOUT_DEFAULT_MS, () => {
          isLate = true
          cancel()
        })
      },
    })
    const cookies = answer.cookies?.flatMap(cookie => ['set-cookie', cookie]) ?? []
    const headers = [...Object.entries(answer.headers).flat(), ...cookies]
    // The answer to a HEAD says nothing of a length that nobody counted.
    const chunks = source ? chunksOf(source) : method === 'HEAD' && Readable.from([])
    return { status: answer.status, headers, body: chunks ? { chunks } : answer.body }
  } catch (cause) {
    if (isLate) throw new HttpError(504, 'handler_timeout', 'The server behind this one took too long.')
    if (cause instanceof SvcError) throw new HttpError(cause.status!, cause.code, cause.message)
    throw cause
  } finally {
    stopTimer()
  }
}

/** A server may answer before it has read the body, and its sender may send all of it before it reads that answer. */
async function* bodyOf({ req }: NodeRequest) {
  try {
    yield* req.iterator({ destroyOnReturn: false })
  } finally {
    req.resume()
  }
}

async function* chunksOf(source: StreamSource) {
  try {
    for (let next = await source.next(); !next.done; next = await source.next()) yield next.bytes!
  } finally {
    source.end()
  }
}
