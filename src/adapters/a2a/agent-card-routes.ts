/** The free documents about the agent: its card, and `GET /a2a`. */
import type { AgentDef } from '../../domain/agent.js'
import { A2A_PATH, agentCard, CARD_PATHS, type CardOptions, skillPrice } from '../../domain/agent-card.js'
import type { IncomingRequest, Transport } from '../../ports/transport.js'
import { TASK_BY_METHOD } from './task-rendering.js'

export type CardRouteOptions = Omit<CardOptions, 'rootUrl' | 'baseUrl'>

export function cardTransport(agent: AgentDef, options: CardRouteOptions): Transport {
  return document(({ rootUrl, baseUrl }) => agentCard(agent, { ...options, rootUrl, baseUrl }))
}

export function descriptorTransport(agent: AgentDef): Transport {
  return document(({ rootUrl }) => ({
    protocol: 'a2a',
    protocolVersion: '0.3.0',
    transport: 'JSONRPC',
    url: rootUrl + A2A_PATH,
    methods: [...TASK_BY_METHOD.keys()],
    card: rootUrl + CARD_PATHS[0],
    payment: 'x402',
    skills: agent.endpoints.filter(def => def.listed).map(skillPrice),
  }))
}

function document(contentAt: (incoming: IncomingRequest) => unknown): Transport {
  const json = (status: number, value: unknown) => ({
    status,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(value),
  })
  return {
    answer: incoming => json(200, contentAt(incoming)),
    refuse: ({ status, code, message }) => json(status, { error: { code, message } }),
  }
}
