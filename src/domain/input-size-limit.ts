/** Limits an input in a transport that carries it inside a larger message. */
import type { EndpointDef } from './endpoint.js'

/** Whether the input, written as the endpoint would read it, is larger than the endpoint's own limit. */
export function isTooLarge(
  { maxBodyBytes, bodyType }: EndpointDef,
  input: unknown,
  bodyBytesMax: number,
): boolean {
  const bytesMax = maxBodyBytes ?? bodyBytesMax
  if (input instanceof Uint8Array) return input.length > bytesMax
  return Buffer.byteLength(bodyType === 'text' ? String(input) : (JSON.stringify(input) ?? '')) > bytesMax
}
