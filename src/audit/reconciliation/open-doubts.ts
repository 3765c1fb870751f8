/** The calls in doubt whose payments may still land: a payment that landed is decided, and so is one that is too old to. */
import { landsWithinMs } from '../../app/charge/stored-answers.js'
import type { EndedCall } from '../../ports/call-observer.js'
import { landedBy } from './audited-period.js'

export interface OpenDoubts {
  add(run: EndedCall): void
  /** The chain has this transaction. */
  landed(txId: string): void
  list(): readonly EndedCall[]
}

/** When the last payment that this run may have sent can land no more. The journal has no rounds, so it is the longest life. */
export function decidedByMs({ startedMs, ms }: EndedCall): number {
  return landedBy(startedMs + ms + landsWithinMs(undefined))
}

/** Keeps the calls of the last hour or so alone. */
export function openDoubts(nowMs: number): OpenDoubts {
  let open: EndedCall[] = []
  const landed = new Set<string>()
  const txIds = new Set<string | undefined>()
  return {
    add(run) {
      if (run.charged !== 'maybe' || decidedByMs(run) <= nowMs) return
      open.push(run)
      txIds.add(run.txId)
    },
    landed(txId) {
      if (txIds.has(txId)) landed.add(txId)
    },
    list() {
      open = open.filter(({ txId = '' }) => !landed.has(txId))
      return open
    },
  }
}
