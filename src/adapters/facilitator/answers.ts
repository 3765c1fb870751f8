/** What a facilitator's HTTP answer is to us: a JSON object from the facilitator itself, or an outage. */
import { isRecord } from '../../domain/x402.js'

export type Answer =
  | { readonly status: number; readonly body: Record<string, unknown> }
  | {
      readonly outage: string
      /** Whether anything but a gateway's error came back. */
      readonly spoke: boolean
      /** Whether it fell over on what it was sent (500): one stranger's payload, and no reason to stop asking it. */
      readonly stumbled?: true
    }

/** The outage that a status alone is. 408 and 429 speak of the asking, not of the payment. */
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
    // Said below: what is not JSON and what is JSON of another kind are equally no answer.
  }
  return { outage: `status ${status} without a JSON object`, spoke: true }
}
