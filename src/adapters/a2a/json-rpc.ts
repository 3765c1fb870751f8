/** The part of JSON-RPC 2.0 that one method needs. */
import { isRecord } from '../../domain/x402.js'
import type { Parsed } from '../../ports/charge.js'

export const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603
/** The server refused the call because of a state, not because of its content. `data.code` says which. */
export const CALL_REFUSED = -32000
/** Defined by A2A. */
export const TASK_NOT_FOUND = -32001
export const CONTENT_TYPE_NOT_SUPPORTED = -32005
/** Not -32002, which A2A reserves for tasks that cannot be cancelled. */
export const PAYMENT_REQUIRED = -32010

export type Id = string | number

export interface RpcRequest {
  readonly id: Id
  readonly method: string
  readonly params: unknown
}

export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** Thrown for an invalid request, and caught in one place. */
export class RpcRefusal extends Error implements RpcError {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message)
  }
}

/** @throws RpcRefusal */
export function readRequest(body: Parsed<unknown>): RpcRequest {
  if (body.kind !== 'read') {
    const why = body.kind === 'malformed' ? body.why : 'The body is empty.'
    throw new RpcRefusal(PARSE_ERROR, why, { code: 'invalid_json' })
  }
  const request = body.value
  if (Array.isArray(request)) {
    throw new RpcRefusal(INVALID_REQUEST, 'Batches are not answered: a payment is for one call.')
  }
  if (!isRecord(request) || request.jsonrpc !== '2.0' || typeof request.method !== 'string') {
    throw new RpcRefusal(INVALID_REQUEST, 'The body is not a JSON-RPC 2.0 request.')
  }
  const { id, method, params } = request
  if (id === undefined) {
    throw new RpcRefusal(
      INVALID_REQUEST,
      'A notification could not be answered; send the request with an id.',
    )
  }
  if (!isId(id)) throw new RpcRefusal(INVALID_REQUEST, 'An id is a string or a number.')
  return { id, method, params }
}

/** The id of the received message, for an error about it; null where it has no usable id. */
export function idIn(body: Parsed<unknown>): Id | null {
  const request = body.kind === 'read' ? body.value : undefined
  return isRecord(request) && isId(request.id) ? request.id : null
}

function isId(id: unknown): id is Id {
  return typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id))
}

export function resultText(id: Id, result: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result })
}

export function errorText(id: Id | null, { code, message, data }: RpcError): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } })
}
