/** Reads a facilitator's HTTP response: a JSON object from the facilitator itself, or an outage. */
import { isRecord } from '../../domain/x402.js'

/** The largest honest response is a `/supported` that lists every chain: a few KiB. */
export const ANSWER_BYTES_MAX = 64 * 1024

export type Answer =
  | { readonly status: number; readonly body: Record<string, unknown> }
  | {
      readonly outage: string
      /** Whether a response came that is not a gateway's error. */
      readonly spoke: boolean
      /** Whether the facilitator failed on this payload (500). Other payloads may still succeed, so it is asked again. */
      readonly stumbled?: true
    }

/** The outage that a status means by itself. 408 and 429 concern the request, not the payment. */
export function outageOf(status: number): Answer | undefined {
  const isOutage = (status >= 300 && status < 400) || status >= 500 || status === 408 || status === 429
  if (!isOutage) return undefined
  const spoke = status >= 400 && status < 500
  return { outage: `status ${status}`, spoke, ...(status === 500 && { stumbled: true }) }
}

export function answerOf(status: number, text: string): Answer {
  const outage = outageOf(status)
  if (outage) return outage
  try {
    const body: unknown = JSON.parse(text)
    if (isRecord(body)) return { status, body }
  } catch {
    // Reported below: text that is not JSON, and JSON that is no object, are the same outage.
  }
  return { outage: `status ${status} without a JSON object`, spoke: true }
}
