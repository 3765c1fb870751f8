/** The calls of a running agent, as its audit page gets them. */
import { eventsIn } from '../../src/app/client/stream-events.js'
import { SvcError } from '../../src/domain/errors.js'
import { isRecord } from '../../src/domain/x402.js'

/** A call that has ended. The agent may be of another version, so no field is certain. */
export type Heard = Readonly<Record<string, unknown>>

export interface Part {
  readonly calls: readonly Heard[]
  /** Calls that ended and were not sent: the agent leaves out what a listener is too slow for. */
  readonly missed: number
}

/** Ends when the agent ends the stream, or its connection breaks. */
export async function* callsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<Part> {
  let steps: readonly unknown[] = []
  let received = 0
  let unsent: number | undefined
  const tooLarge = () => new SvcError('The agent sent an event that is too large', 'event_too_large')
  for await (const { event, data } of eventsIn(body, tooLarge)) {
    if (event === 'hello' && isRecord(data) && Array.isArray(data.steps)) steps = data.steps
    if (event === 'runs' && Array.isArray(data)) {
      received += data.length
      yield { calls: data.filter(isRecord).map(call => withNamedSteps(call, steps)), missed: 0 }
    }
    if (event === 'totals' && isRecord(data) && typeof data.calls === 'number') {
      // What the agent had forgotten before this connection was not missed by it.
      unsent ??= data.calls - received
      const missed = data.calls - received - unsent
      received += missed
      if (missed > 0) yield { calls: [], missed }
    }
  }
}

function withNamedSteps(call: Heard, steps: readonly unknown[]): Heard {
  return Array.isArray(call.path) ? { ...call, path: call.path.map(step => steps[step] ?? step) } : call
}

/** When it ended, by the agent's clock. */
export function endedMs({ startedMs, ms }: Heard): number {
  return Number(startedMs) + Number(ms)
}
