/**
 * `POST {basePath}/mcp`: streamable HTTP without sessions, of both generations of the protocol. One message a request, so
 * that a request is at most one call, and a call at most one payment.
 */
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { AgentDef } from '../../domain/agent.js'
import { MCP_PATH } from '../../domain/card.js'
import { isTooLarge } from '../../domain/input-size.js'
import { isRecord, type PaymentPayload } from '../../domain/x402.js'
import type { Charge, ChargeOutcome, Presented } from '../../ports/charge.js'
import type { Arrival, Door, DoorAnswer } from '../../ports/door.js'
import { IDEMPOTENCY_KEY_META, PAYMENT_META, resultOf, SUBSCRIPTION_META } from './answers.js'
import {
  FREE_TOOLS,
  type FreeToolsOptions,
  GET_MANIFEST,
  getManifest,
  SEARCH_AGENTS,
  searchAgents,
} from './free-tools.js'
import { failure } from './results.js'
import type { ToolCall } from './server.js'
import { type EndpointTool, endpointTools } from './tools.js'
import { foreignPage } from './web-origin.js'

export interface McpOptions extends FreeToolsOptions {
  readonly agent: AgentDef
  readonly charge: Charge
  /** The largest input of an endpoint that does not say so itself. */
  readonly bodyBytesMax: number
}

export interface McpDoor extends Door {
  /** Exactly as clients will see them. */
  readonly toolNames: readonly string[]
}

export function mcpDoor(options: McpOptions): McpDoor {
  const { agent, logger } = options
  const paid = endpointTools(agent.endpoints)
  const tools = [...[...paid.values()].map(({ tool }) => tool), ...FREE_TOOLS]
  const instructions = `${agent.description}\nTools that cost are paid per call with x402: _meta["${PAYMENT_META}"].`
  return {
    toolNames: tools.map(({ name }) => name),
    refuse: ({ status, message }) => refused(status, status >= 500 ? -32603 : -32600, message),
    async answer(arrival) {
      const foreign = foreignPage(arrival)
      if (foreign !== undefined) return refused(403, -32600, foreign)
      const { body } = arrival
      if (body.kind !== 'read') {
        return refused(400, -32700, body.kind === 'malformed' ? body.why : 'The body is empty.')
      }
      if (Array.isArray(body.value)) return refused(400, -32600, 'Batches are not answered.')
      let outcome: ChargeOutcome | undefined
      const call = (called: ToolCall) =>
        callTool(called, arrival, options, paid, ended => {
          outcome = ended
        })
      const broke = (cause: unknown) => logger.error({ err: cause }, 'a tool broke')
      const { name, version } = agent
      const toolbox = { name, version, instructions, tools, call, broke }
      // Loaded when first asked for: 0.3 s and 30 MB that most agents' callers never need.
      const { exchange } = await import('./exchange.js')
      const response = await exchange(toolbox, requestOf(arrival), body.value, cause =>
        logger.debug({ err: cause }, 'an MCP request was refused'),
      )
      const type = response.headers.get('content-type')
      return {
        status: response.status,
        headers: type === null ? {} : { 'content-type': type },
        body: new Uint8Array(await response.arrayBuffer()),
        outcome,
      }
    },
  }
}

async function callTool(
  { name, args, meta }: ToolCall,
  arrival: Arrival,
  options: McpOptions,
  paid: ReadonlyMap<string, EndpointTool>,
  onEnded: (outcome: ChargeOutcome) => void,
): Promise<CallToolResult> {
  if (name === GET_MANIFEST) return getManifest(options, arrival.rootUrl)
  if (name === SEARCH_AGENTS) return searchAgents(options, args)
  const { def, inputOf } = paid.get(name)!
  const input = inputOf(args)
  if (isTooLarge(def, input, options.bodyBytesMax)) {
    return failure('body_too_large', 'The arguments are larger than this tool reads. You were not charged.')
  }
  const idempotencyKey = meta[IDEMPOTENCY_KEY_META] ?? arrival.idempotencyKey
  const subscriptionKey = meta[SUBSCRIPTION_META] ?? arrival.subscriptionKey
  if (!isKey(idempotencyKey) || !isKey(subscriptionKey)) {
    return failure(
      'invalid_input',
      'A key in _meta is 1 to 255 visible ASCII characters. You were not charged.',
    )
  }
  const outcome = await options.charge.call(def.name, {
    ...arrival,
    body: { kind: 'read', value: input },
    query: def.method === 'GET' && isRecord(input) ? input : {},
    payment: paymentIn(meta),
    idempotencyKey,
    subscriptionKey,
  })
  onEnded(outcome)
  return resultOf(outcome)
}

function isKey(value: unknown): value is string | undefined {
  return value === undefined || (typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value))
}

/** A payment in a header is not looked at: it would be for the whole connection, and a payment is for one call. */
function paymentIn(meta: Readonly<Record<string, unknown>>): Presented<PaymentPayload> {
  const payment = meta[PAYMENT_META]
  if (payment === undefined) return { kind: 'none' }
  if (isRecord(payment)) return { kind: 'read', value: payment }
  return { kind: 'malformed', why: `_meta["${PAYMENT_META}"] is not an object` }
}

/** The SDK is shown what is MCP's in the request, and nothing else. */
function requestOf({ headers, baseUrl }: Arrival): Request {
  const shown = Object.entries(headers).filter(([name]) => name === 'content-type' || name.startsWith('mcp-'))
  const accept = headers.accept ?? '*/*'
  // What accepts everything accepts the two types that the protocol wants to see named.
  const both = accept.includes('*/*') ? 'application/json, text/event-stream' : accept
  const init = { ...Object.fromEntries(shown), accept: both } as Record<string, string>
  return new Request(baseUrl + MCP_PATH, { method: 'POST', headers: init })
}

function refused(status: number, code: number, message: string): DoorAnswer {
  const body = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } })
  return { status, headers: { 'content-type': 'application/json' }, body }
}
