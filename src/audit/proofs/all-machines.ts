/** The five machines, each with the table that the program runs on and what is proved of it. */
import { chargeMachine, chargeTable } from '../../domain/machines/charge.machine.js'
import { claimMachine, claimTable } from '../../domain/machines/claim.machine.js'
import { paymentMachine, paymentTable } from '../../domain/machines/payment.machine.js'
import { shutdownMachine, shutdownTable } from '../../domain/machines/shutdown.machine.js'
import { subscriptionMachine, subscriptionTable } from '../../domain/machines/subscription.machine.js'
import type { Drawing, DrawnMachine, Row, Table } from '../../domain/state-machine/transition-table.js'
import { CHARGE_PROPERTIES, CHARGE_STATE_PROPERTIES } from './charge.proved-properties.js'
import { type Proof, provePaths, proveStates } from './check-machine-properties.js'

export interface Drawn {
  readonly machine: DrawnMachine<Drawing>
  readonly table: Table
  prove(): Iterable<Proof>
}

const sound = (table: Table) => () => proveStates(table)

export const MACHINES: readonly Drawn[] = [
  { machine: chargeMachine, table: chargeTable, prove: () => proveCharge(chargeTable) },
  { machine: claimMachine, table: claimTable, prove: sound(claimTable) },
  { machine: paymentMachine, table: paymentTable, prove: sound(paymentTable) },
  { machine: subscriptionMachine, table: subscriptionTable, prove: sound(subscriptionTable) },
  { machine: shutdownMachine, table: shutdownTable, prove: sound(shutdownTable) },
]

/** One after another, for whoever stops at the first that does not hold. */
export function* proveCharge(table: Table): Iterable<Proof> {
  yield* provePaths(table, CHARGE_PROPERTIES)
  yield* proveStates(table)
  yield* proveStates(table, CHARGE_STATE_PROPERTIES)
}

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

function meaning({ meta }: Row): string {
  const { status, charged, outcome } = meta
  return status === undefined ? String(outcome) : `${status}, charged ${charged}`
}
