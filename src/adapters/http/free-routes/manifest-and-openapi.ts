/** The manifest and the OpenAPI document, with the URLs by which this caller reaches the agent. */
import { rootOf } from '../forwarded-address.js'
import { jsonTextReply } from '../reply.js'
import type { FreeRoute } from '../route-types.js'
import { UNCACHED } from './uncached.js'

export interface DiscoveryRoutesOptions {
  /** JSON texts, by the origin of the request. */
  readonly documents: {
    manifest(origin: string): string | Promise<string>
    openapi(origin: string): string | Promise<string>
  }
}

export function discoveryRoutes({ documents }: DiscoveryRoutesOptions): readonly FreeRoute[] {
  return [
    document('/.well-known/svc.json', origin => documents.manifest(origin)),
    document('/openapi.json', origin => documents.openapi(origin)),
  ]
}

function document(path: string, textAt: (origin: string) => string | Promise<string>): FreeRoute {
  return {
    path,
    method: 'GET',
    headers: UNCACHED,
    handle: async incoming => jsonTextReply(200, await textAt(rootOf(incoming))),
  }
}
