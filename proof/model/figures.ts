/** What is published of a walk, in docs/machines/explored.json. `svc machines --prove` prints it beside its proofs, whose fields it has. */
import type { Explored } from './explore.js'

export interface Figures {
  readonly name: string
  readonly calls: number
  readonly machine: 'store'
  readonly says: string
  readonly of: 'states'
  /** The states. */
  readonly checked: number
  readonly steps: number
  /** The length of the longest shortest trace. */
  readonly depth: number
  /** The rules that are broken. */
  readonly refuted: readonly string[]
}

export function figuresOf(
  { name, calls: { length: calls } }: { readonly name: string; readonly calls: readonly unknown[] },
  explored: Pick<Explored, 'states' | 'transitions' | 'depth' | 'isComplete'> & {
    readonly violations: ReadonlyMap<string, unknown>
  },
): Figures {
  const { states, transitions: steps, depth, isComplete, violations } = explored
  const says = `no order of ${calls} calls broke a money rule when last explored: ${name} (${steps} steps)`
  const refuted = [...violations.keys(), ...(isComplete ? [] : ['the walk was cut'])]
  return { name, calls, machine: 'store', says, of: 'states', checked: states, steps, depth, refuted }
}
