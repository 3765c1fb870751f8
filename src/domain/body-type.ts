/** What a body is: JSON, text or bytes. `bodyType` is the Bazaar's name for it. */
import type { JSONSchema } from './endpoint-schemas.js'

/** How the body of a POST is read: a JSON value, a string (UTF-8), or a `Uint8Array`. */
export type BodyType = 'json' | 'text' | 'bytes'

export const MEDIA_TYPE = {
  json: 'application/json',
  text: 'text/plain',
  bytes: 'application/octet-stream',
} as const satisfies Record<BodyType, string>

export function mediaTypeIn(contentType: string | null | undefined): string {
  return (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase()
}

export function isJson(mediaType: string): boolean {
  return mediaType === 'application/json' || mediaType.endsWith('+json')
}

export function emptyBody(type: BodyType = 'json'): unknown {
  if (type === 'json') return {}
  return type === 'text' ? '' : new Uint8Array()
}

/** What a message of A2A or MCP carries instead of the body; `undefined` for JSON, whose input is the message's own. */
export function messageSchema(type: BodyType | undefined): JSONSchema | undefined {
  if (type === 'text') return { type: 'object', required: ['text'], properties: { text: { type: 'string' } } }
  if (type === 'bytes') {
    const base64 = { type: 'string', contentEncoding: 'base64' } as const
    return { type: 'object', required: ['base64'], properties: { base64 } }
  }
  return undefined
}

export function bodyInMessage(type: BodyType | undefined, input: unknown): unknown {
  if (type === undefined || type === 'json') return input
  const { text, base64 } = (input ?? {}) as { text?: unknown; base64?: unknown }
  if (type === 'text') return typeof text === 'string' ? text : undefined
  return typeof base64 === 'string' ? new Uint8Array(Buffer.from(base64, 'base64')) : undefined
}

/** Whether the input, written as the endpoint would read it, is larger than the endpoint's own limit. */
export function isTooLarge(
  { maxBodyBytes, bodyType }: { readonly maxBodyBytes?: number; readonly bodyType?: BodyType },
  input: unknown,
  bodyBytesMax: number,
): boolean {
  const bytesMax = maxBodyBytes ?? bodyBytesMax
  if (input instanceof Uint8Array) return input.length > bytesMax
  return Buffer.byteLength(bodyType === 'text' ? String(input) : (JSON.stringify(input) ?? '')) > bytesMax
}
