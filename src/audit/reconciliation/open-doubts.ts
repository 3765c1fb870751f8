/** The calls in doubt whose payments may still land: a payment that landed is decided, and so is one that is too old to. */
import { landsWithinMs } from '../../app/charge/seal-answers.js'
import type { EndedCall } from '../../ports/call-observer.js'
import { landedBy } from './audited-period.js'

/** When the last payment that this run may have sent can land no more. The journal has no rounds, so it is the longest life. */
export function decidedByMs({ startedMs, ms }: EndedCall): number {
  return landedBy(startedMs + ms + landsWithinMs(undefined))
}

/** Keeps the calls of the last hour or so alone. */
export function openDoubts(nowMs: number) {
  let open: EndedCall[] = []
  const landed = new Set<string>()
  const txIds = new Set<string | undefined>()
  return {
    add(run: EndedCall): void {
      if (run.charged !== 'maybe' || decidedByMs(run) <= nowMs) return
      open.push(run)
      txIds.add(run.txId)
    },
    /** The chain has this transaction. */
    landed(txId: string): void {
      if (txIds.has(txId)) landed.add(txId)
    },
    list(): readonly EndedCall[] {
      open = open.filter(({ txId = '' }) => !landed.has(txId))
      return open
    },
  }
}
