/** The content of a delivered answer, for transports that carry data instead of bytes. */
import type { Answer } from './handler-answer.js'
import { deeperThan, JSON_DEPTH_MAX } from './json-depth.js'
import { mayHoldUnusualNumbers, plainNumbers } from './json-numbers.js'

export type AnswerContent =
  | { readonly kind: 'json'; readonly value: unknown; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bytes'; readonly base64: string; readonly mediaType: string }

/**
 * A body that claims to be JSON but is not becomes text. So does JSON with a number that would be written as another
 * value. An answer without a body is an empty text.
 */
export function contentOf({ headers, body }: Answer): AnswerContent {
  const mediaType = (headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase()
  const isJson = mediaType === 'application/json' || mediaType.endsWith('+json')
  if (!isJson && !mediaType.startsWith('text/') && body.length > 0) {
    const base64 = bytesOf(body).toString('base64')
    return { kind: 'bytes', base64, mediaType: mediaType || 'application/octet-stream' }
  }
  const text = typeof body === 'string' ? body : bytesOf(body).toString('utf8')
  if (!isJson || deeperThan(text, JSON_DEPTH_MAX)) return { kind: 'text', text }
  try {
    const value: unknown = JSON.parse(text)
    return { kind: 'json', value: mayHoldUnusualNumbers(text) ? plainNumbers(value) : value, text }
  } catch {
    return { kind: 'text', text }
  }
}

function bytesOf(body: string | Uint8Array): Buffer {
  if (typeof body === 'string') return Buffer.from(body, 'utf8')
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength)
}
