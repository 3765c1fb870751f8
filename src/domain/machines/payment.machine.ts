import { type DrawnMachine, lifecycleOf, machineOf, type StateOf } from '../state-machine/transition-table.js'

const drawing = {
  id: 'payment',
  initial: 'free',
  states: {
    free: { on: { opened: 'held' } },
    held: {
      description: 'One call is at work for it.',
      on: { recorded: 'settling', released: 'free', renewed: 'held', lapsed: 'lapsed', opened: 'held' },
    },
    lapsed: {
      description: 'Its holder’s lease has run out.',
      on: { opened: 'held', renewed: 'held', recorded: 'settling', released: 'free', collected: 'free' },
    },
    settling: {
      description: 'It may have been submitted. No lease ends this, only the chain.',
      tags: 'durable',
      on: { completed: 'spent', found: 'spent', released: 'free', renewed: 'settling', dead: 'free' },
    },
    spent: {
      description:
        'It landed. Kept until its last valid round has passed, after which no node takes it again.',
      tags: 'durable',
      on: { dead: 'free' },
    },
  },
} as const

export type PaymentDrawing = typeof drawing
export type PaymentState = StateOf<PaymentDrawing>
/** The life of one payment, by its transaction id: a handler's answer is delivered for it at most once, whoever presents it. */
export const paymentMachine: DrawnMachine<PaymentDrawing> = machineOf(drawing)
export const paymentTable = lifecycleOf(paymentMachine)
