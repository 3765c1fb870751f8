/** What `svc sell` sells: routes of servers that run already, as people write them, and the agent that they make. */
import { defineAgent, defineEndpoint } from '../app/define-agent.js'
import { forwarder } from '../app/forward.js'
import type { AgentDef, AgentOptions } from '../domain/agent.js'
import type { EndpointDef, EndpointOptions } from '../domain/endpoint.js'
import { SvcError } from '../domain/errors.js'
import { checkedMethods, checkedPath, type Method } from '../domain/path-pattern.js'
import { upstreamUrl } from '../domain/upstream.js'

/** What is sold, and what is let through. */
export interface Terms extends Omit<AgentOptions, 'endpoints'> {
  /** Of all routes that name none of their own. */
  readonly upstream?: string
  readonly routes: readonly RouteTerms[]
}

/** `POST /v1/*`, and what a call costs; or that it is free. */
export interface RouteTerms
  extends Partial<Omit<EndpointOptions, 'handler' | 'path' | 'methods' | 'method'>> {
  readonly route: string
  readonly free?: boolean
}

/** A route that is let through. */
export interface FreeRoute extends Pick<EndpointDef, 'name' | 'path' | 'method' | 'methods'> {
  readonly forward: ReturnType<typeof forwarder>
}

/** @throws SvcError `invalid_options`, and an agent's and an endpoint's codes */
export function soldBy({ upstream: common, routes, ...about }: Terms) {
  const free: FreeRoute[] = []
  const endpoints: EndpointDef[] = []
  for (const { route, free: isFree, ...terms } of routes) {
    const refuse = (why: string): never => {
      throw new SvcError(`The route '${route}': ${why}`, 'invalid_options')
    }
    const [, given = '', pattern = ''] =
      /^([A-Za-z,]+) +(\/\S*)$/.exec(route) ?? refuse("it is METHOD /path, such as 'POST /v1/*'")
    const path = checkedPath(pattern.replace(/\/\*$/, '/*rest'), refuse)
    const methods = checkedMethods({ methods: given.toUpperCase().split(',') as Method[] }, refuse)
    const { upstream = common ?? refuse('it has no upstream'), name = nameOf(methods, path) } = terms
    if (isFree !== true) endpoints.push(defineEndpoint({ ...terms, name, path, methods, upstream } as never))
    else if (Object.keys(terms).some(term => term !== 'upstream')) refuse('what is free has no terms')
    else
      free.push({
        name,
        path,
        method: methods[0]!,
        methods,
        forward: forwarder(upstreamUrl(upstream, refuse)),
      })
  }
  if (endpoints.length === 0)
    throw new SvcError("Nothing has a price: give --price 'POST /v1/*=$0.01'", 'invalid_options')
  return { agent: defineAgent({ ...about, endpoints }) as AgentDef, free: free as readonly FreeRoute[] }
}

/** Its discovery name, by which its windows and kept answers are found again: `post/v1/any`. */
function nameOf(methods: readonly Method[], path: string): string {
  const words = path.replace('/*rest', '/any').toLowerCase().split('/')
  const plain = words.map(word => word.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, ''))
  return [methods.join('-').toLowerCase(), ...plain.filter(word => word !== '')].join('/')
}
