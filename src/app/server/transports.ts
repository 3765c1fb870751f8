/** The transports for other agents: the agent card, A2A and MCP, each at a path of this server, over the same charge. */
import { cardTransport, descriptorTransport } from '../../adapters/a2a/agent-card-routes.js'
import { a2aTransport } from '../../adapters/a2a/transport.js'
import type { FreeRoute } from '../../adapters/http/route.js'
import { type TransportRouteOptions, transportRoute } from '../../adapters/http/transport-route.js'
import { mcpTransport } from '../../adapters/mcp/transport.js'
import { A2A_PATH, CARD_PATHS, MCP_PATH } from '../../domain/agent-card.js'
import type { Registry } from '../../ports/agent-registry.js'
import type { Charge } from '../../ports/charge.js'
import type { Tasks } from '../../ports/tasks.js'
import type { Documents } from './agent-documents.js'
import type { PlatformServices } from './platform-services.js'
import type { Settings } from './settings-from-options.js'

export interface TransportsOptions extends TransportRouteOptions {
  readonly charge: Charge
  readonly tasks: Tasks
  readonly documents: Documents
  readonly facilitatorUrl: string
  readonly around: PlatformServices
  readonly registry: Registry | undefined
}

/** @throws SvcError `invalid_endpoint` */
export function transportsOf(options: TransportsOptions, settings: Settings): readonly FreeRoute[] {
  const { charge, tasks, documents, facilitatorUrl, logger, around, registry } = options
  const { agent, maxBodyBytes: bodyBytesMax, extBase, network, registry: identity } = settings
  const mcp = mcpTransport({
    agent,
    charge,
    bodyBytesMax,
    network: network.key,
    manifest: rootUrl => documents.manifest(rootUrl),
    registry,
    logger,
  })
  const card = cardTransport(agent, { facilitatorUrl, extBase, registry: identity, tools: mcp.toolNames })
  const a2a = a2aTransport({
    ...around,
    charge,
    tasks,
    logger,
    endpoints: agent.endpoints,
    bodyBytesMax,
    extBase,
  })
  // A message may be as large as the largest input that it can carry.
  const mount = { ...options, bodyBytesMax: settings.largestBodyBytes }
  return [
    ...CARD_PATHS.map(path => transportRoute(path, 'GET', card, mount)),
    transportRoute(A2A_PATH, 'GET', descriptorTransport(agent), mount),
    transportRoute(A2A_PATH, 'POST', a2a, mount),
    transportRoute(MCP_PATH, 'POST', mcp, mount),
  ]
}
