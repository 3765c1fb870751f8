/** `POST /a2a`: one method under its two names. Payments come in headers, or in messages on a task (the x402 extension). */
import type { AgentDef } from '../../domain/agent.js'
import { A2A_PATH, A2A_X402_URI, CARD_PATHS, extensionUris, skillPrice } from '../../domain/agent-card.js'
import type { EndpointDef } from '../../domain/endpoint.js'
import {
  INVALID_PARAMS,
  idIn,
  RpcRefusal,
  type RpcRequest,
  rpcRefusal,
  rpcRefused,
} from '../../domain/json-rpc.js'
import { type MatchPath, readMessageInput, schemaOfMessage } from '../../domain/message-input.js'
import { pathOfEndpoint } from '../../domain/path-pattern.js'
import type { Charge } from '../../ports/charge.js'
import type { Clock } from '../../ports/clock.js'
import type { Logger } from '../../ports/logger.js'
import type { Random } from '../../ports/random.js'
import type { Tasks } from '../../ports/tasks.js'
import type { IncomingRequest, Transport, TransportResponse } from '../../ports/transport.js'
import { rpcResponseOf } from './outcome-to-rpc-response.js'
import { inputOf, proofIn, readMessage, readRequest, skillOf } from './read-message.js'
import { TASK_BY_METHOD } from './render-task.js'
import { continueTask, keepQuoted, type TaskFlow, written } from './task-flow.js'

export interface A2aOptions {
  readonly charge: Charge
  readonly tasks: Tasks
  readonly logger: Logger
  readonly endpoints: readonly EndpointDef[]
  readonly match: MatchPath
  /** The largest input of an endpoint that does not set its own limit. */
  readonly bodyBytesMax: number
  readonly extBase: string
  readonly clock: Pick<Clock, 'now'>
  readonly random: Pick<Random, 'uuid'>
}

export function a2aTransport(options: A2aOptions): Transport {
  return {
    async answer(incoming) {
      const extensions = activated(incoming.headers, options.extBase)
      try {
        const answer = await send(incoming, options)
        return { ...answer, headers: { ...answer.headers, ...extensions } }
      } catch (cause) {
        if (!(cause instanceof RpcRefusal)) throw cause
        return rpcRefused(400, idIn(incoming.body), cause)
      }
    },
    refuse: rpcRefusal,
  }
}

async function send(received: IncomingRequest, options: A2aOptions): Promise<TransportResponse> {
  const { endpoints } = options
  const request = readRequest(received.body)
  const incoming = { ...received, proof: proofIn(request.params) ?? received.proof }
  const flow = flowOf(request, incoming, options)
  const message = readMessage(request.params)
  if ('taskId' in message) return continueTask(flow, message, request, incoming)
  const def = skillOf(message, endpoints)
  const input = inputOf(message, def)
  const outcome = await flow.call(def, input, incoming, {})
  // A payment in a header belongs to the flow of HTTP, whatever the client activates.
  const wantsTask = EXTENSION_HEADERS.some(name => urisIn(incoming.headers[name]).includes(A2A_X402_URI))
  if (outcome.final === 'quoted' && wantsTask) {
    const { contextId = options.random.uuid() } = message
    return keepQuoted(flow, { endpoint: def.name, contextId, input }, def, outcome, incoming)
  }
  return written(outcome, () => rpcResponseOf(outcome, flow.asked(def, { contextId: message.contextId })))
}

function flowOf(request: RpcRequest, { baseUrl }: IncomingRequest, options: A2aOptions): TaskFlow {
  const { charge, clock, random } = options
  // Read before any charge: an address that is no URL must not break a call that was paid.
  const root = new URL(baseUrl).pathname.replace(/\/$/, '')
  return {
    ...options,
    async call(def, message, incoming, over) {
      const read = readMessageInput(def, message, options)
      if (!('refused' in read)) return charge.call(def.name, { ...incoming, ...read, ...over })
      const { code, message: why } = read.refused
      throw new RpcRefusal(INVALID_PARAMS, why, { code, schema: schemaOfMessage(def) })
    },
    asked(def, about) {
      return { request, restPath: root + pathOfEndpoint(def), skill: def.name, ...about, clock, random }
    },
  }
}

/** The header's names in A2A 1.0 and 0.3. */
const EXTENSION_HEADERS = ['a2a-extensions', 'x-a2a-extensions'] as const

/** The header of the answer, which names the asked extensions that took effect. */
function activated(
  headers: Readonly<Record<string, string | undefined>>,
  extBase: string,
): Readonly<Record<string, string>> {
  const ours: readonly string[] = [...Object.values(extensionUris(extBase)), A2A_X402_URI]
  return Object.fromEntries(
    EXTENSION_HEADERS.flatMap(name => {
      const asked = urisIn(headers[name])
      const active = ours.filter(uri => asked.includes(uri))
      return active.length > 0 ? [[name, active.join(', ')]] : []
    }),
  )
}

function urisIn(header: string | undefined): readonly string[] {
  return header?.split(',').map(uri => uri.trim()) ?? []
}

/** Where messages are sent, and what the skills cost. */
export function descriptor({ endpoints }: AgentDef, rootUrl: string) {
  return {
    protocol: 'a2a',
    protocolVersion: '0.3.0',
    transport: 'JSONRPC',
    url: rootUrl + A2A_PATH,
    methods: [...TASK_BY_METHOD.keys()],
    card: rootUrl + CARD_PATHS[0],
    payment: 'x402',
    skills: endpoints.filter(def => def.listed).map(skillPrice),
  }
}
