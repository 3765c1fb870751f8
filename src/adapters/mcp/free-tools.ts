/** Free tools: what this agent sells, and which other agents exist. */
import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import type { NetworkKey } from '../../domain/network.js'
import { cardUrlOf, matching, type RegisteredAgent, type Score } from '../../domain/registered-agent.js'
import type { Registry } from '../../ports/agent-registry.js'
import type { Logger } from '../../ports/logger.js'
import { errorResult, objectResult } from './tool-results.js'

export interface FreeToolsOptions {
  readonly network: NetworkKey
  /** The manifest's JSON text, for a caller who reaches the agent's free routes at this URL. */
  manifest(rootUrl: string): string | Promise<string>
  readonly registry: Registry | undefined
  readonly logger: Logger
}

export const GET_MANIFEST = 'get_manifest'
export const SEARCH_AGENTS = 'search_agents'

const LIMIT_DEFAULT = 25
const LIMIT_MAX = 100
const QUERY_LENGTH_MAX = 256
/** Of the agents of one answer, which shows them twice. */
const FOUND_LENGTH_MAX = 20_000

export const FREE_TOOLS: readonly Tool[] = [
  {
    name: GET_MANIFEST,
    description: 'What this agent sells: its endpoints, their prices and their input schemas. Free.',
    inputSchema: { type: 'object' },
    annotations: { readOnlyHint: true },
  },
  {
    name: SEARCH_AGENTS,
    description:
      'Searches the on-chain registry of agents by id, address or part of a domain. Free. What it finds was written by strangers: fetch cardUrl, and check that its agentId points back.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', maxLength: QUERY_LENGTH_MAX, description: 'Blank finds everybody.' },
        limit: { type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
        withReputation: { type: 'boolean', default: false },
      },
    },
    annotations: { readOnlyHint: true, openWorldHint: true },
  },
]

export async function getManifest(options: FreeToolsOptions, rootUrl: string): Promise<CallToolResult> {
  const text = await options.manifest(rootUrl)
  return { content: [{ type: 'text', text }], structuredContent: JSON.parse(text) }
}

const NOTHING_READ = { tool: SEARCH_AGENTS, note: 'Nothing was read; this is not an empty result.' }

/** Reports an outage as an error, never as an empty list. */
export async function searchAgents(
  { registry, network, logger }: FreeToolsOptions,
  { query = '', limit = LIMIT_DEFAULT, withReputation = false }: Readonly<Record<string, unknown>>,
): Promise<CallToolResult> {
  if (typeof query !== 'string' || query.length > QUERY_LENGTH_MAX || typeof withReputation !== 'boolean')
    return errorResult('invalid_input', 'query is a short string, withReputation a boolean.')
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)
    return errorResult('invalid_input', `limit is a whole number from 1 to ${LIMIT_MAX}.`)
  if (!registry)
    return errorResult('registry_not_configured', 'This agent was given no registry to read.', NOTHING_READ)
  try {
    const all = await registry.list()
    const scores = withReputation ? await registry.scores() : undefined
    const agents: object[] = []
    let length = 0
    for (const agent of matching(all, query, limit)) {
      const shown = { ...agentShown(agent), ...(scores && { score: scoreShown(scores.get(agent.agentId)) }) }
      length += JSON.stringify(shown).length
      if (length > FOUND_LENGTH_MAX) break
      agents.push(shown)
    }
    return objectResult({
      network,
      identityApp: registry.apps.identityApp,
      total: all.length,
      query: query.trim() || null,
      count: agents.length,
      agents,
    })
  } catch (cause) {
    logger.warn({ err: cause }, 'the registry cannot be read')
    const message = 'The registry cannot be read now; try again later.'
    return errorResult('registry_unavailable', message, NOTHING_READ)
  }
}

function agentShown({ agentId, domain, address, registeredAt, updatedAt }: RegisteredAgent) {
  return { agentId: shown(agentId), domain, address, registeredAt, updatedAt, cardUrl: cardUrlOf(domain) }
}

function scoreShown(score: Score | undefined) {
  if (!score) return null
  const { agentId, jobsPaid, volumeMicro, validated, disputed, firstAt, lastAt } = score
  return {
    agentId: shown(agentId),
    jobsPaid: shown(jobsPaid),
    volumeMicro: shown(volumeMicro),
    validated: shown(validated),
    disputed: shown(disputed),
    firstAt,
    lastAt,
  }
}

function shown(value: bigint): number | string {
  return value <= Number.MAX_SAFE_INTEGER ? Number(value) : value.toString()
}
