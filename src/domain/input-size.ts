/** How large an input may be at a transport that carries it inside a larger message. */
import type { EndpointDef } from './endpoint.js'

/** Whether the input, written as JSON, is larger than what the endpoint itself would read. */
export function isTooLarge({ maxBodyBytes }: EndpointDef, input: unknown, bodyBytesMax: number): boolean {
  return Buffer.byteLength(JSON.stringify(input) ?? '') > (maxBodyBytes ?? bodyBytesMax)
}
