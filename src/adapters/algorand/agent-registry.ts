/** The registry, read from the boxes of one node. Promises: see the port. */

import type { RegisteredAgent, RegistryApps, Score } from '../../domain/agent-registry.js'
import { fromBase64, toBase64 } from '../../domain/base64.js'
import { isRecord } from '../../domain/x402.js'
import type { Registry } from '../../ports/agent-registry.js'
import { systemClock } from '../../ports/clock.js'
import {
  AGENT_BOXES,
  addressBox,
  agentBox,
  domainBox,
  idInAgentBox,
  readAgent,
  readAgentId,
  readScore,
  scoreBox,
} from './agent-registry-boxes.js'
import { type NodeClient, unavailable } from './node-response-reader.js'

export interface RegistryOptions {
  readonly node: NodeClient
  readonly apps: RegistryApps & { readonly identityApp: number }
  /** How long a list or a score is cached. */
  readonly ageMs?: number
  readonly nowMs?: () => number
}

const AGE_MS = 30_000
const SCORES_KEPT = 1_000
/** More agents than any registry has. A longer list is refused, not cut. */
const AGENTS_MAX = 20_000
const PAGE_BOXES = 1_000
const BOXES_AT_ONCE = 8

export function algorandRegistry(options: RegistryOptions): Registry {
  const { node, apps, ageMs = AGE_MS, nowMs = systemClock.monotonic } = options
  const identity = boxesOf(node, apps.identityApp)
  const reputation = apps.reputationApp === undefined ? undefined : boxesOf(node, apps.reputationApp)
  const scores = new Map<bigint, { readonly score: Score | undefined; readonly untilMs: number }>()
  let shared: { readonly agents: Promise<readonly RegisteredAgent[]>; readonly untilMs: number } | undefined

  async function byId(agentId: bigint): Promise<RegisteredAgent | undefined> {
    if (agentId < 1n || agentId >= 2n ** 64n) return undefined
    const value = await identity.value(agentBox(agentId))
    return value && wellFormed(readAgent(value), 'agent')
  }

  /** An index box may be left over from an earlier record: it counts only where the record agrees with it. */
  async function byIndex(name: Uint8Array | undefined, owns: (agent: RegisteredAgent) => boolean) {
    const value = name && (await identity.value(name))
    const agent = value && (await byId(wellFormed(readAgentId(value), 'agent id')))
    return agent && owns(agent) ? agent : undefined
  }

  return {
    apps,
    byId,
    byDomain: domain => byIndex(domainBox(domain), agent => agent.domain === domain),
    byAddress: address => byIndex(addressBox(address), agent => agent.address === address),
    async score(agentId) {
      const known = scores.get(agentId)
      if (known && nowMs() < known.untilMs) return known.score
      const value = await reputation?.value(scoreBox(agentId))
      const score = value && wellFormed(readScore(value), 'score')
      if (scores.size >= SCORES_KEPT) scores.clear()
      scores.set(agentId, { score, untilMs: nowMs() + ageMs })
      return score
    },
    async list() {
      if (shared && nowMs() < shared.untilMs) return shared.agents
      const asked = { agents: readAll(identity, byId), untilMs: nowMs() + ageMs }
      shared = asked
      asked.agents.catch(() => {
        if (shared === asked) shared = undefined
      })
      return asked.agents
    },
    close: () => node.close(),
  }
}

interface Boxes {
  value(name: Uint8Array): Promise<Uint8Array | undefined>
  page(next: string | undefined): Promise<Record<string, unknown>>
}

function boxesOf(node: NodeClient, app: number): Boxes {
  return {
    async value(name) {
      const box = await node.find(`/v2/applications/${app}/box?name=${query(name)}`)
      return box && bytesIn(box, 'value')
    },
    page(next) {
      const after = next === undefined ? '' : `&next=${encodeURIComponent(next)}`
      return node.get(
        `/v2/applications/${app}/boxes?limit=${PAGE_BOXES}&values=true&prefix=${query(AGENT_BOXES)}${after}`,
      )
    },
  }
}

/** Older nodes support neither prefixes nor pages nor values. This function does without them where they are missing. */
async function readAll(
  boxes: Boxes,
  byId: (agentId: bigint) => Promise<RegisteredAgent | undefined>,
): Promise<readonly RegisteredAgent[]> {
  const agents = new Map<bigint, RegisteredAgent>()
  const unread: bigint[] = []
  let next: string | undefined
  do {
    const page = await boxes.page(next)
    if (!Array.isArray(page.boxes) || !page.boxes.every(isRecord)) throw unavailable('boxes is no list')
    for (const box of page.boxes) {
      const agentId = idInAgentBox(bytesIn(box, 'name'))
      if (agentId === undefined) continue
      if (typeof box.value === 'string')
        agents.set(agentId, wellFormed(readAgent(bytesIn(box, 'value')), 'agent'))
      else unread.push(agentId)
    }
    if (agents.size + unread.length > AGENTS_MAX) throw unavailable(`more than ${AGENTS_MAX} agents`)
    const { 'next-token': token } = page
    next = typeof token === 'string' && token !== '' && token !== next ? token : undefined
  } while (next !== undefined)
  for (let at = 0; at < unread.length; at += BOXES_AT_ONCE) {
    for (const agent of await Promise.all(unread.slice(at, at + BOXES_AT_ONCE).map(byId))) {
      // The agent was deregistered after the list was read.
      if (agent) agents.set(agent.agentId, agent)
    }
  }
  return [...agents.values()].sort((a, b) => (a.agentId < b.agentId ? -1 : 1))
}

function wellFormed<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw unavailable(`a box holds no ${what}`)
  return value
}

function bytesIn(box: Record<string, unknown>, key: string): Uint8Array {
  const value = box[key]
  if (typeof value !== 'string') throw unavailable(`a box without ${key}`)
  return fromBase64(value)
}

function query(bytes: Uint8Array): string {
  return encodeURIComponent(`b64:${toBase64(bytes)}`)
}
