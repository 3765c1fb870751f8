/** Finds every path through a drawn machine, from its initial state to a final one. */
import type { Table } from './transition-table.js'

export interface MachinePath {
  /** `state.event`, in order, like the path that `run` returns. */
  readonly steps: readonly string[]
  /** The states on the path, without the final one. */
  readonly states: readonly string[]
  readonly final: string
}

/** @throws Error where a path passes a state twice: there would be infinitely many paths. */
export function allPathsOf(table: Table): readonly MachinePath[] {
  const ways: MachinePath[] = []
  const walk = (state: string, steps: readonly string[], states: readonly string[]): void => {
    if (states.includes(state)) throw new Error(`machine ${table.id} comes back to ${state}`)
    const { on, final } = table.rows[state]!
    if (final) ways.push({ steps, states, final: state })
    for (const [event, target] of Object.entries(on)) {
      walk(target, [...steps, `${state}.${event}`], [...states, state])
    }
  }
  walk(table.initial, [], [])
  return ways
}
