import { ENVELOPE_BOUNDS, isWithin } from './json.js'
import { isRecord, type Parsed } from './x402.js'

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

/** Thrown for an invalid request, and caught in one place of each transport. */
export class RpcRefusal extends Error implements RpcError {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message)
  }
}

/** An answer repeats the id, so a stranger may not choose how long the answer is. */
const ID_LENGTH_MAX = 256
const NO_ID = `An id is a number, or a string of up to ${ID_LENGTH_MAX} characters.`

/** @param inputsIn the parts of `params` that are bounded elsewhere, as an endpoint's input is */
export function readRpc(
  body: Parsed<unknown>,
  inputsIn: (method: string, params: unknown) => readonly unknown[],
): Omit<RpcRequest, 'id'> & { readonly id: Id | undefined } {
  if (body.kind !== 'read') {
    const why = body.kind === 'malformed' ? body.why : 'The body is empty.'
    throw new RpcRefusal(PARSE_ERROR, why, { code: 'invalid_json' })
  }
  const message = body.value
  if (Array.isArray(message))
    throw new RpcRefusal(INVALID_REQUEST, 'Batches are not answered: a payment is for one call.')
  if (!isRecord(message) || message.jsonrpc !== '2.0' || typeof message.method !== 'string')
    throw new RpcRefusal(INVALID_REQUEST, 'The body is not a JSON-RPC 2.0 request.')
  const { id, method, params } = message
  if (id !== undefined && !isId(id)) throw new RpcRefusal(INVALID_REQUEST, NO_ID)
  if (isWithin(message, ENVELOPE_BOUNDS, inputsIn(method, params))) return { id, method, params }
  const { values, characters } = ENVELOPE_BOUNDS
  const why = `Beside the input of a call, a message has at most ${values} values and ${characters} characters of text.`
  throw new RpcRefusal(INVALID_REQUEST, why, { code: 'message_too_large' })
}

/** The id of the received message, for an error about it; null where it has no usable id. */
export function idIn(body: Parsed<unknown> | undefined): Id | null {
  const message = body?.kind === 'read' ? body.value : undefined
  return isRecord(message) && isId(message.id) ? message.id : null
}

function isId(id: unknown): id is Id {
  return typeof id === 'string' ? id.length <= ID_LENGTH_MAX : typeof id === 'number' && Number.isFinite(id)
}

export function errorText(id: Id | null, { code, message, data }: RpcError): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } })
}

export function rpcRefused(status: number, id: Id | null, error: RpcError) {
  return { status, headers: { 'content-type': 'application/json' }, body: errorText(id, error) }
}

/** A refusal of the HTTP layer in the words of JSON-RPC. */
export function rpcRefusal(
  refusal: { status: number; code: string; message: string; fields?: Readonly<Record<string, unknown>> },
  asked: Parsed<unknown> | undefined,
) {
  const { status, code, message, fields } = refusal
  const rpcCode = status >= 500 ? INTERNAL_ERROR : INVALID_REQUEST
  return rpcRefused(status, idIn(asked), { code: rpcCode, message, data: { ...fields, code } })
}
