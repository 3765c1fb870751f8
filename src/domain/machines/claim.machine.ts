/**
 * The life of one claim: an idempotency key in one owner's scope, or the name that a payment without a key has. Only the chain
 * ends `settling`; a lease never does. `kept`: an answer that lost its key is filed under its payment's name.
 *
 * A token whose lease lapsed may still record if no other call took the claim meanwhile. A token that was replaced
 * may do nothing.
 */
import { type DrawnMachine, lifecycleOf, machineOf, type StateOf } from '../state-machine/transition-table.js'

const drawing = {
  id: 'claim',
  initial: 'absent',
  states: {
    absent: { on: { opened: 'inProgress', kept: 'completed' } },
    inProgress: {
      description: 'A call under this key is at work; nothing has been charged.',
      on: {
        recorded: 'settling',
        served: 'completed',
        released: 'absent',
        forfeited: 'absent',
        renewed: 'inProgress',
        lapsed: 'lapsed',
        reopened: 'inProgress',
      },
    },
    lapsed: {
      description: 'Its lease has run out; the next caller may take it.',
      on: {
        reopened: 'inProgress',
        renewed: 'inProgress',
        recorded: 'settling',
        served: 'completed',
        released: 'absent',
        forfeited: 'absent',
        collected: 'absent',
      },
    },
    settling: {
      description:
        'The answer is stored and its payment may have been submitted. Collected only when that can no longer matter.',
      tags: 'durable',
      on: {
        completed: 'completed',
        found: 'completed',
        forfeited: 'absent',
        released: 'absent',
        renewed: 'settling',
        orphaned: 'settling',
        dead: 'inProgress',
        collected: 'absent',
      },
    },
    completed: {
      description: 'The answer may be replayed until its window ends.',
      tags: 'durable',
      on: { expired: 'absent', evicted: 'absent' },
    },
  },
} as const

export type ClaimDrawing = typeof drawing
export type ClaimState = StateOf<ClaimDrawing>
/** The life of one idempotency key: absent, held by a running call, settling, completed. */
export const claimMachine: DrawnMachine<ClaimDrawing> = machineOf(drawing)
export const claimTable = lifecycleOf(claimMachine)
