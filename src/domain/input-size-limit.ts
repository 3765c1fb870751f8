/** Limits an input in a transport that carries it inside a larger message. */
import type { EndpointDef } from './endpoint.js'

/** Whether the input, written as JSON, is larger than the endpoint's own limit. */
export function isTooLarge({ maxBodyBytes }: EndpointDef, input: unknown, bodyBytesMax: number): boolean {
  return Buffer.byteLength(JSON.stringify(input) ?? '') > (maxBodyBytes ?? bodyBytesMax)
}
