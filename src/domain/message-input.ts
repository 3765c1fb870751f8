/** What a message of A2A or MCP carries of a call whose endpoint has parameters in its path: `{ params, input }`. */
import type { BodyType } from './body-type.js'
import type { EndpointDef } from './endpoint.js'
import type { JSONSchema } from './endpoint-schemas.js'
import { paramsIn, pathWith, type Target } from './path-pattern.js'
import { embeddedAt } from './rewrite-json-schema.js'
import { isRecord } from './x402.js'

type Called = Pick<EndpointDef, 'path' | 'bodyType' | 'input'>

/** The endpoint that answers a path below the base path, and the parameters in it; `undefined` where none does. */
export type MatchPath = (
  method: string,
  path: string,
) => { readonly def: EndpointDef; readonly target: Target } | undefined

/** The schema of a message's input; `undefined` where every input is accepted. */
export function schemaOfMessage({ path = '', bodyType, input: own }: Called): JSONSchema | undefined {
  const input = messageSchema(bodyType) ?? own
  const names = paramsIn(path)
  if (names.length === 0) return input
  const properties = Object.fromEntries(names.map(name => [name, { type: 'string', minLength: 1 }]))
  return {
    type: 'object',
    properties: {
      params: { type: 'object', properties, required: [...names] },
      ...(input !== undefined && { input: embeddedAt('#/properties/input', input) as JSONSchema }),
    },
    required: ['params', ...(input === undefined ? [] : ['input'])],
  } as JSONSchema
}

/** The call that a message asks for; or why it asks for none, in words that say that nothing was charged. */
export function readMessageInput(
  def: EndpointDef,
  message: unknown,
  { match, bodyBytesMax }: { readonly match: MatchPath; readonly bodyBytesMax: number },
) {
  const read = targetIn(def, message, match)
  if (read === undefined) return refused('invalid_path', `params make no path such as ${def.path}`)
  const body = bodyInMessage(def.bodyType, read.input)
  if (body === undefined) return refused('invalid_input', `This takes ${TAKEN[def.bodyType ?? 'json']}`)
  if (isTooLarge(def, body, bodyBytesMax))
    return refused('body_too_large', 'The input is larger than what is read here')
  const { target, input } = read
  // An endpoint reads its input from the body or, for a GET, from the query. Here the message is both.
  const query = def.method === 'GET' && isRecord(input) ? input : {}
  return { target, query, body: { kind: 'read', value: body }, streams: false } as const
}

const TAKEN = { json: 'an input', text: 'a text', bytes: 'bytes in base64' } as const
function refused(code: string, why: string) {
  return { refused: { code, message: `${why}. You were not charged.` } }
}

/** `undefined` where the parameters make no path at which this endpoint answers. */
function targetIn(
  def: EndpointDef,
  message: unknown,
  match: MatchPath,
): { readonly target?: Target; readonly input: unknown } | undefined {
  if (paramsIn(def.path ?? '').length === 0) return { input: message }
  const { params, input = {} } = isRecord(message) ? message : {}
  const path = isRecord(params) ? pathWith(def.path!, params) : undefined
  const found = path === undefined ? undefined : match(def.method, path)
  return found?.def.name === def.name ? { target: found.target, input } : undefined
}

/** What a message of A2A or MCP carries instead of the body; `undefined` for JSON, whose input is the message's own. */
function messageSchema(type: BodyType | undefined): JSONSchema | undefined {
  if (type === 'text') return { type: 'object', required: ['text'], properties: { text: { type: 'string' } } }
  if (type !== 'bytes') return undefined
  const base64 = { type: 'string', contentEncoding: 'base64' } as const
  return { type: 'object', required: ['base64'], properties: { base64 } }
}

function bodyInMessage(type: BodyType | undefined, input: unknown): unknown {
  if (type === undefined || type === 'json') return input
  const { text, base64 } = (input ?? {}) as { text?: unknown; base64?: unknown }
  if (type === 'text') return typeof text === 'string' ? text : undefined
  // Buffer makes some bytes of every text.
  const digits = typeof base64 === 'string' ? base64.replace(/[\r\n=]+/g, '') : '?'
  if (!/^[\w+/-]*$/.test(digits) || digits.length % 4 === 1) return undefined
  return new Uint8Array(Buffer.from(digits, 'base64'))
}

/** Whether the input, written as the endpoint would read it, is larger than the endpoint's own limit. */
function isTooLarge(
  { maxBodyBytes, bodyType }: { readonly maxBodyBytes?: number; readonly bodyType?: BodyType },
  input: unknown,
  bodyBytesMax: number,
): boolean {
  const bytesMax = maxBodyBytes ?? bodyBytesMax
  if (input instanceof Uint8Array) return input.length > bytesMax
  return Buffer.byteLength(bodyType === 'text' ? String(input) : (JSON.stringify(input) ?? '')) > bytesMax
}
