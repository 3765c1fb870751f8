import { expect } from 'vitest'
import type { FaultName, Sandbox, Stage } from '../../src/sandbox.js'

const TIMES = 1_000

/** Sets a fault that stays. What is returned resolves once the facilitator has answered, or left unanswered, a request by it. */
export function metFault({ faults }: Sandbox, stage: Stage, fault: FaultName): () => Promise<void> {
  faults.set(stage, fault, { times: TIMES })
  return () => expect.poll(() => faults.list()[0]?.times).toBeLessThan(TIMES)
}
