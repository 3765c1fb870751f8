/** Bytes and standard base64, also for browsers. Uses Buffer where it exists: it is ten times as fast as what browsers have. */

const isNode = typeof Buffer !== 'undefined'

/** The same memory, as Node's own kind of bytes. */
export function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

export function toBase64(bytes: Uint8Array): string {
  if (isNode) return bufferOf(bytes).toString('base64')
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary)
}

/** As lenient as Buffer: text that is not base64 gives some bytes or none. */
export function fromBase64(text: string): Uint8Array {
  if (isNode) return Buffer.from(text, 'base64')
  try {
    return Uint8Array.from(atob(text), character => character.charCodeAt(0))
  } catch {
    return new Uint8Array()
  }
}

export function textToBase64(text: string): string {
  return isNode ? Buffer.from(text, 'utf8').toString('base64') : toBase64(new TextEncoder().encode(text))
}

export function textOf(bytes: Uint8Array): string {
  return isNode
    ? bufferOf(bytes).toString('utf8')
    : new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** For bytes that do not leave: on Node small ones share the memory of others, and take a third of the time. */
export const joinBytes: typeof concatBytes = isNode ? Buffer.concat : concatBytes

export function equalBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at])
}
