/** What a table cannot represent exactly is refused when its module loads. */
import { describe, expect, it } from 'vitest'
import { createMachine, setup } from 'xstate'
import {
  type Drawing,
  type DrawnMachine,
  lifecycleOf,
  tableOf,
} from '../../src/domain/state-machine/transition-table.js'

const end = { type: 'final' } as const

/** A sound machine with `state` in place of its only working state, and `root` added to its root. */
function drawn(state: object, root: object = {}): DrawnMachine<Drawing> {
  const states = { working: { entry: 'work', on: { done: 'ended' }, ...state }, ended: end, other: end }
  return createMachine({ id: 'm', initial: 'working', states, ...root } as never)
}

const EITHER: readonly [construct: string, machine: () => DrawnMachine<Drawing>, why: string][] = [
  ['a nested state', () => drawn({ initial: 'inner', states: { inner: {} } }), 'has initial'],
  ['parallel states', () => drawn({ type: 'parallel' }), 'is parallel'],
  [
    'a parallel root',
    () => createMachine({ id: 'm', type: 'parallel', states: { a: {} } }),
    'the root has type',
  ],
  ['a root without states', () => createMachine({ id: 'm' }), 'does not begin in one of its states'],
  ['a history state', () => drawn({ type: 'history', entry: undefined, on: undefined }), 'is history'],
  [
    'a guard',
    () => drawn({ on: { done: { target: 'ended', guard: () => true } } }),
    'no single target for done',
  ],
  [
    'several candidates',
    () => drawn({ on: { done: [{ target: 'ended' }, { target: 'other' }] } }),
    'no single target for done',
  ],
  ['a wildcard', () => drawn({ on: { '*': 'ended' } }), 'answers *'],
  ['a partial wildcard', () => drawn({ on: { 'done.*': 'ended' } }), 'answers done.*'],
  ['an inline action', () => drawn({ entry: () => {} }), 'not a plain name'],
  ['a parameterised action', () => drawn({ entry: { type: 'work', params: { n: 1 } } }), 'not a plain name'],
  [
    'a built-in action',
    () => drawn({ entry: setup({}).raise({ type: 'done' } as never) }),
    'not a plain name',
  ],
  [
    'an action on a move',
    () => drawn({ on: { done: { target: 'ended', actions: 'log' } } }),
    'no single target for done',
  ],
  ['an action on leaving', () => drawn({ exit: 'tidy' }), 'has exit'],
  ['a delay', () => drawn({ after: { 1000: 'ended' } }), 'has after'],
  ['an eventless move', () => drawn({ always: 'ended' }), 'has always'],
  ['an invocation', () => drawn({ invoke: { src: 'service' } }), 'has invoke'],
  ['an event of xstate', () => drawn({ on: { 'xstate.stop': 'ended' } }), 'answers xstate.stop'],
  ['the end of an invocation', () => drawn({ onDone: 'ended' }), 'has onDone'],
  ['two effects', () => drawn({ entry: ['work', 'more'] }), 'more than one effect'],
  ['a final state with moves', () => drawn({ type: 'final' }), 'is final and has moves'],
  [
    'a final state with an output',
    () => drawn({ entry: undefined, on: undefined, ...end, output: 1 }),
    'has output',
  ],
  [
    'a re-entering move',
    () => drawn({ on: { done: { target: 'ended', reenter: true } } }),
    'no single target for done',
  ],
  ['a move without a target', () => drawn({ on: { done: {} } }), 'no single target'],
  ['a forbidden event', () => drawn({ on: { done: undefined } }), 'no single target'],
  ['a context', () => drawn({}, { context: { count: 0 } }), 'has context'],
  ['an output of the machine', () => drawn({}, { output: () => 1 }), 'has output'],
  ['moves of the root', () => drawn({}, { on: { stop: '.ended' } }), 'has on'],
  ['an eventless move of the root', () => drawn({}, { always: { target: '.ended' } }), 'the root has always'],
  ['an entry action of the root', () => drawn({}, { entry: 'begin' }), 'has entry'],
  ['an exit action of the root', () => drawn({}, { exit: 'end' }), 'the root has exit'],
  ['an invocation of the root', () => drawn({}, { invoke: { src: 'service' } }), 'the root has invoke'],
  ['a delay of the root', () => drawn({}, { after: { 1000: '.ended' } }), 'the root has after'],
  [
    'an action on the initial move',
    () => drawn({}, { initial: { target: 'working', actions: 'begin' } }),
    'does not begin in one of its states',
  ],
]

const WALKED: typeof EITHER = [
  ['a state without an effect that is not final', () => drawn({ entry: undefined }), 'has no effect'],
  ['a final state with an effect', () => drawn({ ...end, on: undefined }), 'is final and has an effect'],
  ['a state that leads back to itself', () => drawn({ on: { again: 'working' } }), 'leads back to itself'],
]

describe('a table refuses', () => {
  it.each([...EITHER, ...WALKED])('%s', (_, machine, why) => {
    expect(() => tableOf(machine())).toThrow(/^machine m cannot be run from a table: /)
    expect(() => tableOf(machine())).toThrow(why)
  })
})

describe('a lifecycle refuses', () => {
  it.each(EITHER)('%s', (_, machine, why) => expect(() => lifecycleOf(machine())).toThrow(why))
  it('an effect', () =>
    expect(() => lifecycleOf(drawn({}))).toThrow('has an effect, which a lifecycle cannot run'))
})

describe('what is sound is accepted', () => {
  it('flat states, named effects, plain moves, tags and meta', () => {
    const table = tableOf(drawn({ tags: 'durable', meta: { note: 1 }, entry: ['work'] }))
    expect(table).toEqual({
      id: 'm',
      initial: 'working',
      stepsMax: 3,
      rows: {
        working: {
          effect: 'work',
          final: false,
          on: { done: 'ended' },
          meta: { note: 1 },
          tags: ['durable'],
        },
        ended: { effect: null, final: true, on: {}, meta: {}, tags: [] },
        other: { effect: null, final: true, on: {}, meta: {}, tags: [] },
      },
    })
  })

  it('a lifecycle may lead back to itself, as nothing is run there', () => {
    const table = lifecycleOf(drawn({ entry: undefined, on: { again: 'working', done: 'ended' } }))
    expect(table.rows.working!.on).toEqual({ again: 'working', done: 'ended' })
  })
})
