/** Writes a machine as the JSON that xstate's `createMachine` takes and Stately's editor opens. */
import type { Drawing, DrawnMachine } from '../../domain/state-machine/transition-table.js'

export function stately(machine: DrawnMachine<Drawing>): string {
  return `${JSON.stringify(machine.config, undefined, 2)}\n`
}
