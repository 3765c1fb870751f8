/** Reads a facilitator's HTTP response: a JSON object from the facilitator itself, or an outage. */
import { isRecord } from '../../domain/x402.js'
import type { ExchangeReply } from '../../ports/exchange.js'

/** The largest honest response is a `/supported` that lists every chain: a few KiB. */
export const ANSWER_BYTES_MAX = 64 * 1024

export type Answer =
  | { readonly status: number; readonly body: Record<string, unknown> }
  | {
      readonly outage: string
      /** Whether a response came that is not a gateway's error. */
      readonly spoke: boolean
      /** A 4xx: the host does not take this request, and may take the next. */
      readonly ofRequest?: true
    }

/** The outage that a status means by itself. 408 and 429 concern the request, not the payment. */
export function outageOf(status: number): Answer | undefined {
  const isOutage = (status >= 300 && status < 400) || status >= 500 || status === 408 || status === 429
  return isOutage ? outage(status, `status ${status}`, false) : undefined
}

function outage(status: number, words: string, spoke: boolean): Answer {
  const isOfRequest = status >= 400 && status < 500
  return isOfRequest ? { outage: words, spoke: true, ofRequest: true } : { outage: words, spoke }
}

export function answerOf(reply: ExchangeReply): Answer {
  if ('failed' in reply) return { outage: reply.failed, spoke: false }
  const { status, text } = reply
  const failed = outageOf(status)
  if (failed) return failed
  try {
    const body: unknown = JSON.parse(text)
    if (isRecord(body)) return { status, body }
  } catch {
    // Reported below: text that is not JSON, and JSON that is no object, are the same outage.
  }
  return outage(status, `status ${status} without a JSON object`, true)
}
