import { type DrawnMachine, lifecycleOf, machineOf } from '../state-machine/transition-table.js'

const drawing = {
  id: 'subscription',
  initial: 'none',
  states: {
    none: { on: { stored: 'sold' } },
    sold: {
      description:
        'Stored before its payment settles, so that no key is ever charged for that could not be kept.',
      on: { settled: 'active', unsettled: 'none', ended: 'none' },
    },
    active: { description: 'Open until its time or the last of its calls ends it.', on: { ended: 'none' } },
  },
} as const

export type SubscriptionDrawing = typeof drawing
/** The life of one paid window. Its key opens the endpoint while it is `active` and now is before `expiresAt`. */
export const subscriptionMachine: DrawnMachine<SubscriptionDrawing> = machineOf(drawing)
export const subscriptionTable = lifecycleOf(subscriptionMachine)
