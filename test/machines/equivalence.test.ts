/** The table is the machine: every state of all five machines, on every event, against xstate itself. */
import { describe, expect, it } from 'vitest'
import { createActor, initialTransition, transition } from 'xstate'
import { next } from '../../src/domain/state-machine/transition-table.js'
import { alphabetOf, MACHINES } from './machines.js'

describe.each(MACHINES)('the $machine.id machine', ({ machine, table }) => {
  const states = Object.keys(table.rows)
  const pairs = states.flatMap(state => alphabetOf(table).map(event => ({ state, event })))

  it('has the states of the drawing, and begins where it begins', () => {
    expect(states).toEqual(Object.keys(machine.states))
    const [initial, actions] = initialTransition(machine)
    expect(initial.value).toBe(table.initial)
    expect(actions.map(action => action.type)).toEqual(effectsOf(table.initial))
  })

  it(`goes where xstate goes and does what xstate does, on each of ${pairs.length} pairs of state and event`, () => {
    for (const { state, event } of pairs) {
      const [after, actions] = transition(machine, at(state), { type: event })
      const target = table.rows[state]!.on[event]
      if (target === undefined) {
        expect([after.value, actions], `${state} on ${event}`).toEqual([state, []])
        expect(() => next(table, state, event)).toThrow(`state ${state} does not list the event ${event}`)
      } else {
        expect(next(table, state, event)).toBe(target)
        expect(after.value, `${state} on ${event}`).toBe(target)
        expect(after.status).toBe(table.rows[target]!.final ? 'done' : 'active')
        expect(actions.map(action => action.type)).toEqual(effectsOf(target))
      }
    }
  })

  it('is what a live actor walks', () => {
    for (const { state, event } of pairs.filter(pair => !table.rows[pair.state]!.final)) {
      const actor = createActor(machine, { snapshot: at(state) }).start()
      actor.send({ type: event })
      expect(actor.getSnapshot().value, `${state} on ${event}`).toBe(table.rows[state]!.on[event] ?? state)
      actor.stop()
    }
  })

  it('has a row for each state with the drawing’s meta and tags, and nobody can change it', () => {
    for (const [state, row] of Object.entries(table.rows)) {
      expect(row.meta).toEqual(machine.states[state]!.meta ?? {})
      expect(row.tags).toEqual(machine.states[state]!.tags)
      expect([row, row.on, row.meta, row.tags].every(Object.isFrozen)).toBe(true)
    }
    expect(Object.isFrozen(table) && Object.isFrozen(table.rows)).toBe(true)
  })

  it('reaches every state, leaves every state that is not final, and ends in the others', () => {
    const reached = new Set<string>([table.initial])
    for (const state of reached)
      for (const target of Object.values(table.rows[state]!.on)) reached.add(target)
    expect([...reached].sort()).toEqual([...states].sort())
    for (const row of Object.values(table.rows)) expect(Object.keys(row.on).length > 0).toBe(!row.final)
  })

  function at(state: string) {
    return machine.resolveState({ value: state, context: {} })
  }

  function effectsOf(state: string): string[] {
    const { effect } = table.rows[state]!
    return effect === null ? [] : [effect]
  }
})
