import { type DrawnMachine, lifecycleOf, machineOf, type StateOf } from '../state-machine/transition-table.js'

const drawing = {
  id: 'subscription',
  initial: 'none',
  states: {
    none: { on: { stored: 'open' } },
    open: {
      description:
        'Stored before its payment settles, so that no key is ever charged for that could not be kept. Calls take of it.',
      on: { taken: 'open', counted: 'open', usedUp: 'usedUp', ended: 'ended', unsettled: 'none' },
    },
    usedUp: {
      description: 'No unit is left. It stays until its end, so that nothing that comes late restores it.',
      on: { usedUp: 'usedUp', ended: 'ended', unsettled: 'none' },
    },
    ended: {
      description: 'Its period is over. What calls took before is honoured.',
      on: { counted: 'ended', usedUp: 'ended', ended: 'ended', unsettled: 'none', collected: 'none' },
    },
  },
} as const

export type SubscriptionDrawing = typeof drawing
export type UnitsState = StateOf<SubscriptionDrawing>
/** The life of what was sold to be taken by calls: a balance, or a window of calls. */
export const subscriptionMachine: DrawnMachine<SubscriptionDrawing> = machineOf(drawing)
export const subscriptionTable = lifecycleOf(subscriptionMachine)
