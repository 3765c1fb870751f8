/** Reads a message before the MCP library sees it, which then sees only what is small. */
import { type RpcRequest, readRpc } from '../../domain/json-rpc.js'
import { isRecord, type Parsed, recordAt } from '../../domain/x402.js'
import { PAYMENT_META } from './tool-results.js'
import type { ToolCall } from './tool-server.js'

export interface McpMessage {
  /** What the library is given: a call without its arguments and its payment. */
  readonly envelope: object
  /** The call as it was sent, of what the library read in the envelope. */
  whole(called: ToolCall): ToolCall
}

/** @param tools the names of those that are here: only for them may a message be large */
export function readMessage(body: Parsed<unknown>, tools: ReadonlySet<unknown>): McpMessage {
  const inputsIn = (method: string, params: unknown): readonly unknown[] => {
    const isCall = method === 'tools/call' && isRecord(params) && tools.has(params.name)
    return isCall ? [recordAt(params, 'arguments'), recordAt(params, '_meta', PAYMENT_META)] : []
  }
  const { id, method, params } = readRpc(body, inputsIn)
  const [args, payment] = inputsIn(method, params)
  return {
    envelope: {
      jsonrpc: '2.0',
      ...(id !== undefined && { id }),
      method,
      ...envelopeOf(params, args, payment),
    },
    whole: called => ({
      ...called,
      ...(isRecord(args) && { args }),
      meta: payment === undefined ? called.meta : { ...called.meta, [PAYMENT_META]: payment },
    }),
  }
}

function envelopeOf(params: unknown, args: unknown, payment: unknown): Partial<Pick<RpcRequest, 'params'>> {
  if (!isRecord(params)) return params === undefined ? {} : { params }
  const { _meta } = params
  return {
    params: {
      ...params,
      ...(args !== undefined && { arguments: {} }),
      ...(payment !== undefined && { _meta: { ...(_meta as object), [PAYMENT_META]: {} } }),
    },
  }
}
