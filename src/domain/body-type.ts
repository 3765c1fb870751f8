/** What a body is: JSON, text or bytes. `bodyType` is the Bazaar's name for it. */

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

const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]+)/i

/** `undefined` where the charset is unknown here, or the bytes are no text of it: a guess would alter them. */
export function textIn(bytes: Uint8Array, contentType: string | null | undefined): string | undefined {
  const [, charset = 'utf-8'] = CHARSET.exec(contentType ?? '') ?? []
  try {
    return new TextDecoder(charset, { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

export function isJson(mediaType: string): boolean {
  return mediaType === 'application/json' || mediaType.endsWith('+json')
}

export function emptyBody(type: BodyType = 'json'): unknown {
  if (type === 'json') return {}
  return type === 'text' ? '' : new Uint8Array()
}
