/** The documents that describe the agent, with the URLs by which this caller reaches it, and a page for people at `/`. */
import { rootOf } from '../forwarded-address.js'
import { htmlReply } from '../pages.js'
import { prefersHtml } from '../prefers-html.js'
import { jsonReply, jsonTextReply } from '../reply.js'
import type { FreeRoute, HostRequest } from '../route-types.js'
import { UNCACHED } from './uncached.js'

export interface DiscoveryRoutesOptions {
  /** JSON texts, by the origin of the request. */
  readonly documents: {
    manifest(origin: string): string | Promise<string>
    openapi(origin: string): string | Promise<string>
    resourceList(origin: string): string
    /** HTML. `prefix` is the part of the path before this page's own: empty, or the base path. */
    landingPage(origin: string, prefix: string): string
  }
  readonly agent: { readonly name: string }
}

export function discoveryRoutes({ documents, agent }: DiscoveryRoutesOptions): readonly FreeRoute[] {
  return [
    document('/.well-known/svc.json', origin => documents.manifest(origin)),
    document('/.well-known/x402', origin => documents.resourceList(origin)),
    document('/openapi.json', origin => documents.openapi(origin)),
    {
      path: '/',
      method: 'GET',
      isLeftToMountingApp: true,
      headers: [...UNCACHED, 'Vary', 'Accept'],
      handle(incoming) {
        const origin = rootOf(incoming)
        const prefix = prefixOf(incoming)
        if (prefersHtml(incoming.headers.accept)) return htmlReply(200, documents.landingPage(origin, prefix))
        return jsonReply(200, { name: agent.name, ...addresses(origin + prefix) })
      },
    },
  ]
}

/** What stands in the path before the slash that this route is: the base path, or nothing. */
function prefixOf({ target }: HostRequest): string {
  return target.slice(0, target.split('?', 1)[0]!.length - 1)
}

/** For programs that know the agent's address alone. */
function addresses(root: string) {
  return {
    manifest: `${root}/.well-known/svc.json`,
    x402: `${root}/.well-known/x402`,
    agentCard: `${root}/.well-known/agent-card.json`,
    openapi: `${root}/openapi.json`,
  }
}

function document(path: string, textAt: (origin: string) => string | Promise<string>): FreeRoute {
  return {
    path,
    method: 'GET',
    headers: UNCACHED,
    handle: async incoming => jsonTextReply(200, await textAt(rootOf(incoming))),
  }
}
