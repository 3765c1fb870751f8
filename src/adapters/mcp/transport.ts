/** `POST {basePath}/mcp`: streamable HTTP without sessions. A request is at most one call, and a call is at most one payment. */
import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import type { AgentDef } from '../../domain/agent.js'
import { MCP_PATH } from '../../domain/agent-card.js'
import { bufferOf } from '../../domain/bytes.js'
import { isLoopback } from '../../domain/caller-ip-network.js'
import { isIdempotencyKey } from '../../domain/idempotency-key.js'
import { INVALID_REQUEST, idIn, RpcRefusal, rpcRefusal, rpcRefused } from '../../domain/json-rpc.js'
import { type MatchPath, readMessageInput } from '../../domain/message-input.js'
import { readProof } from '../../domain/sign-in-with-x.js'
import { presentedPayment } from '../../domain/x402.js'
import type { Charge, ChargeOutcome } from '../../ports/charge.js'
import { type IncomingRequest, type TransportResponse, Unwritten } from '../../ports/transport.js'
import {
  FREE_TOOLS,
  type FreeToolsOptions,
  GET_MANIFEST,
  getManifest,
  SEARCH_AGENTS,
  searchAgents,
} from './free-tools.js'
import { type McpMessage, readMessage } from './read-message.js'
import {
  BALANCE_META,
  errorResult,
  IDEMPOTENCY_KEY_META,
  MAX_CHARGE_META,
  messageOf,
  PAYMENT_META,
  PROOF_META,
  resultOf,
  SUBSCRIPTION_META,
} from './tool-results.js'
import type { ToolCall } from './tool-server.js'
import { type EndpointTool, endpointTools } from './tools-of-endpoints.js'

const ERROR_BYTES_MAX = 1_024
const NOT_MCP = 'The message does not have the form that MCP gives to its method.'

export interface McpOptions extends FreeToolsOptions {
  readonly agent: AgentDef
  readonly charge: Charge
  readonly match: MatchPath
  /** The largest input of an endpoint that does not set its own limit. */
  readonly bodyBytesMax: number
}

export function mcpTransport(options: McpOptions) {
  const { agent, logger } = options
  const paid = endpointTools(agent.endpoints)
  const tools: readonly Tool[] = [...[...paid.values()].map(({ tool }) => tool), ...FREE_TOOLS]
  const names = new Set(tools.map(({ name }) => name))
  const instructions = `${agent.description}\nTools that cost are paid per call with x402: _meta["${PAYMENT_META}"].`
  return {
    toolNames: [...names],
    refuse: rpcRefusal,
    async answer(incoming: IncomingRequest): Promise<TransportResponse> {
      const foreign = webOriginRefusal(incoming)
      if (foreign !== undefined) return rpcRefused(403, null, { code: INVALID_REQUEST, message: foreign })
      let message: McpMessage
      try {
        message = readMessage(incoming.body, names)
      } catch (cause) {
        if (!(cause instanceof RpcRefusal)) throw cause
        return rpcRefused(400, idIn(incoming.body), cause)
      }
      let outcome: ChargeOutcome | undefined
      let broken: unknown
      const call = (called: ToolCall) =>
        callTool(message.whole(called), incoming, options, paid, ended => {
          outcome = ended
        }).catch(cause => {
          broken = cause
          throw cause
        })
      const broke = (cause: unknown) => logger.error({ err: cause }, 'a tool broke')
      const { name, version } = agent
      const toolbox = { name, version, instructions, tools, call, broke }
      // Load the SDK on first use: it takes 0.3 s and 30 MB, and most agents' callers never need it.
      const { answerOneRequest } = await import('./tool-server.js')
      const request = requestOf(incoming)
      try {
        const response = await answerOneRequest(toolbox, request, message.envelope, cause =>
          logger.debug({ err: cause }, 'an MCP request was refused'),
        )
        const type = response.headers.get('content-type')
        const answer = new Uint8Array(await response.arrayBuffer())
        if (outcome && broken !== undefined) throw broken
        // The SDK checks a tool's answer. If it does not pass it on, it sends a protocol error, which has no result.
        if (outcome && !messageOf(answer).result)
          throw new Error('the SDK did not pass on the result of a tool')
        // The SDK writes down all that is wrong with a message. Lists of tools are long too, and need no parsing.
        const isLongError =
          !outcome && answer.length > ERROR_BYTES_MAX && bufferOf(answer).includes('"error":')
        const error = isLongError ? messageOf(answer).error : undefined
        if (error)
          return rpcRefused(response.status, idIn(incoming.body), { code: error.code, message: NOT_MCP })
        return {
          status: response.status,
          headers: type === null ? {} : { 'content-type': type },
          body: answer,
          outcome,
        }
      } catch (cause) {
        throw outcome ? new Unwritten(outcome, cause) : cause
      }
    },
  }
}

async function callTool(
  { name, args, meta }: ToolCall,
  incoming: IncomingRequest,
  options: McpOptions,
  paid: ReadonlyMap<string, EndpointTool>,
  onEnded: (outcome: ChargeOutcome) => void,
): Promise<CallToolResult> {
  if (name === GET_MANIFEST) return getManifest(options, incoming.rootUrl)
  if (name === SEARCH_AGENTS) return searchAgents(options, args)
  const { def, inputOf } = paid.get(name)!
  const read = readMessageInput(def, inputOf(args), options)
  if ('refused' in read) return errorResult(read.refused.code, read.refused.message)
  const most = meta[MAX_CHARGE_META] ?? incoming.maxCharge
  const keys = {
    idempotencyKey: meta[IDEMPOTENCY_KEY_META] ?? incoming.idempotencyKey,
    subscriptionKey: meta[SUBSCRIPTION_META] ?? incoming.subscriptionKey,
    balanceKey: meta[BALANCE_META] ?? incoming.balanceKey,
    maxCharge: typeof most === 'number' ? String(most) : most,
  }
  const noKeys = 'A key or a limit in _meta is 1 to 255 visible ASCII characters. You were not charged.'
  if (!areKeys(keys)) return errorResult('invalid_input', noKeys)
  const outcome = await options.charge.call(def.name, {
    ...incoming,
    ...read,
    // Not the one in a header, which is of the whole connection: a payment is for one call.
    payment: presentedPayment(meta[PAYMENT_META], `_meta["${PAYMENT_META}"]`),
    proof: meta[PROOF_META] === undefined ? incoming.proof : readProof(meta[PROOF_META]),
    ...keys,
  })
  onEnded(outcome)
  return resultOf(outcome)
}

function areKeys<Name extends string>(keys: Record<Name, unknown>): keys is Record<Name, string | undefined> {
  return Object.values(keys).every(key => key === undefined || isIdempotencyKey(key))
}

/** Passes only the MCP part of the request to the SDK. */
function requestOf({ headers, baseUrl }: IncomingRequest): Request {
  const shown = Object.entries(headers).filter(([name]) => name === 'content-type' || name.startsWith('mcp-'))
  const accept = headers.accept ?? '*/*'
  // A client that accepts everything also accepts the two types that the protocol requires by name.
  const both = accept.includes('*/*') ? 'application/json, text/event-stream' : accept
  const init = { ...Object.fromEntries(shown), accept: both } as Record<string, string>
  return new Request(baseUrl + MCP_PATH, { method: 'POST', headers: init })
}

/**
 * The reason for a refusal, or `undefined`. A page may call from the agent's own origin, or from this machine (an
 * inspector). If a browser on the server's own machine uses a foreign name for the agent, an attacker made that name
 * point to this server. Then the browser's "own origin" is the attacker's.
 */
export function webOriginRefusal({ headers, baseUrl, clientAddress }: IncomingRequest): string | undefined {
  const { origin } = headers
  if (origin === undefined) return undefined
  const page = URL.canParse(origin) ? new URL(origin) : undefined
  if (!page || (page.protocol !== 'https:' && page.protocol !== 'http:'))
    return 'The Origin is no web origin.'
  const own = new URL(baseUrl)
  if (isLoopback(clientAddress) && !isLoopback(own.hostname)) return 'The Host is not a name of this machine.'
  return page.host === own.host || isLoopback(page.hostname)
    ? undefined
    : 'Pages of this Origin may not call.'
}
