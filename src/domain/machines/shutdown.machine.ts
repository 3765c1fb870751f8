import { type DrawnMachine, machineOf, tableOf } from '../state-machine/transition-table.js'

const drawing = {
  id: 'shutdown',
  initial: 'running',
  states: {
    running: { entry: 'awaitStop', on: { stop: 'draining' } },
    draining: {
      description: 'New calls are answered 503; calls in flight go on.',
      entry: 'drain',
      on: { empty: 'drained', deadline: 'cutting', secondSignal: 'cutting' },
    },
    cutting: {
      description:
        'Handlers are aborted; none of them may pass recording, so nothing that is cut is charged.',
      entry: 'cut',
      on: { empty: 'timedOut', graceOver: 'timedOut' },
    },
    drained: { type: 'final', meta: { outcome: 'drained' } },
    timedOut: { type: 'final', meta: { outcome: 'timedOut' } },
  },
} as const

export type ShutdownDrawing = typeof drawing
/** The end of a server: it stops taking calls, lets work in flight finish, and cuts what outlasts the deadline. */
export const shutdownMachine: DrawnMachine<ShutdownDrawing> = machineOf(drawing)
export const shutdownTable = tableOf(shutdownMachine)
