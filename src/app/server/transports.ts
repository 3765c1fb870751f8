/** The doors for other agents: the card, A2A and MCP, each a path of the same server over the same charge. */
import { cardDoor, descriptorDoor } from '../../adapters/a2a/discovery.js'
import { a2aDoor } from '../../adapters/a2a/door.js'
import { ALGOD_TOKEN_HEADER } from '../../adapters/algorand/algod-questions.js'
import { algorandRegistry } from '../../adapters/algorand/registry.js'
import { type MountOptions, mounted } from '../../adapters/http/mounted.js'
import type { FreeRoute } from '../../adapters/http/routes.js'
import { mcpDoor } from '../../adapters/mcp/door.js'
import type { AgentDef } from '../../domain/agent.js'
import { A2A_PATH, CARD_PATHS, DEFAULT_EXT_BASE, MCP_PATH } from '../../domain/card.js'
import { SvcError } from '../../domain/errors.js'
import type { RegistryIdentity } from '../../domain/registry.js'
import type { Charge } from '../../ports/charge.js'
import type { Discovery } from './documents.js'
import type { ServerOptions } from './options.js'
import type { Surroundings } from './surroundings.js'

export interface DoorsOptions extends MountOptions {
  readonly agent: AgentDef
  readonly charge: Charge
  readonly documents: Discovery
  readonly facilitatorUrl: string
  readonly algodUrl: string
  readonly around: Surroundings
}

export interface Doors {
  readonly routes: readonly FreeRoute[]
  close(): Promise<void>
}

/** @throws SvcError `invalid_options`, `invalid_endpoint` */
export function doorsOf(options: DoorsOptions, server: ServerOptions): Doors {
  const { agent, charge, documents, bodyBytesMax, facilitatorUrl, algodUrl: url, logger, around } = options
  const extBase = checkedExtBase(server.extBase)
  const identity = checkedRegistry(server.registry)
  const { identityApp } = identity
  const registry =
    identityApp === undefined
      ? undefined
      : algorandRegistry({
          node: around.node({ url, token: server.algodToken }, ALGOD_TOKEN_HEADER),
          apps: { ...identity, identityApp },
        })
  const mcp = mcpDoor({
    agent,
    charge,
    bodyBytesMax,
    network: agent.network,
    manifest: rootUrl => documents.manifest(rootUrl),
    registry,
    logger,
  })
  const card = cardDoor(agent, { facilitatorUrl, extBase, registry: identity, tools: mcp.toolNames })
  const a2a = a2aDoor({ ...around, charge, endpoints: agent.endpoints, bodyBytesMax, extBase })
  // A message is read as far as the largest of the inputs that it may carry.
  const largest = Math.max(bodyBytesMax, ...agent.endpoints.map(({ maxBodyBytes = 0 }) => maxBodyBytes))
  const mount = { ...options, bodyBytesMax: largest }
  return {
    routes: [
      ...CARD_PATHS.map(path => mounted(path, 'GET', card, mount)),
      mounted(A2A_PATH, 'GET', descriptorDoor(agent), mount),
      mounted(A2A_PATH, 'POST', a2a, mount),
      mounted(MCP_PATH, 'POST', mcp, mount),
    ],
    close: async () => registry?.close(),
  }
}

function checkedExtBase(extBase = DEFAULT_EXT_BASE): string {
  // It is said in headers, which carry no other characters: found out behind a charge, that would be too late.
  if (URL.canParse(extBase) && /^[\x21-\x7e]+$/.test(extBase)) return extBase
  throw new SvcError(`extBase is an absolute URL in ASCII, not ${JSON.stringify(extBase)}`, 'invalid_options')
}

function checkedRegistry(registry: RegistryIdentity = {}): RegistryIdentity {
  for (const [name, id] of Object.entries(registry)) {
    if (id === undefined || (Number.isSafeInteger(id) && id > 0)) continue
    throw new SvcError(
      `registry.${name} is a positive whole number, not ${JSON.stringify(id)}`,
      'invalid_options',
    )
  }
  return registry
}
