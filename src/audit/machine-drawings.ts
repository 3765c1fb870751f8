/** Machines as text that other programs draw. */
import type { Drawing, DrawnMachine, Row, Table } from '../domain/state-machine/transition-table.js'

/** The JSON that xstate's `createMachine` takes and Stately's editor opens. */
export function stately(machine: DrawnMachine<Drawing>): string {
  return `${JSON.stringify(machine.config, undefined, 2)}\n`
}

/** A Mermaid state diagram, which GitHub draws inside Markdown. */
export function mermaid(table: Table): string {
  const states = Object.entries(table.rows)
  return [
    'stateDiagram-v2',
    `  [*] --> ${table.initial}`,
    ...states.flatMap(([state, { on }]) =>
      moves(on).map(([to, events]) => `  ${state} --> ${to}: ${events}`),
    ),
    ...states.flatMap(([state, row]) => (row.final ? [`  ${state} --> [*]: ${meaning(row)}`] : [])),
    '',
  ].join('\n')
}

/** One line for all the events that lead to the same state. */
export function moves(on: Row['on']): readonly (readonly [to: string, events: string])[] {
  const byTarget = new Map<string, string[]>()
  for (const [event, to] of Object.entries(on)) byTarget.set(to, [...(byTarget.get(to) ?? []), event])
  return [...byTarget].map(([to, events]) => [to, events.join(', ')])
}

/** The meaning of a final state: `402, charged no`. */
function meaning({ meta }: Row): string {
  const { status, charged, outcome } = meta
  return status === undefined ? String(outcome) : `${status}, charged ${charged}`
}
