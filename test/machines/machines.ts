/** The five machines, each with the table that the program runs on. */
import { chargeMachine, chargeTable } from '../../src/domain/machines/charge.machine.js'
import { claimMachine, claimTable } from '../../src/domain/machines/claim.machine.js'
import { paymentMachine, paymentTable } from '../../src/domain/machines/payment.machine.js'
import { shutdownMachine, shutdownTable } from '../../src/domain/machines/shutdown.machine.js'
import { subscriptionMachine, subscriptionTable } from '../../src/domain/machines/subscription.machine.js'
import type { Drawing, DrawnMachine, Table } from '../../src/domain/state-machine/transition-table.js'

export interface Drawn {
  readonly machine: DrawnMachine<Drawing>
  readonly table: Table
}

export const MACHINES: readonly Drawn[] = [
  { machine: chargeMachine, table: chargeTable },
  { machine: claimMachine, table: claimTable },
  { machine: paymentMachine, table: paymentTable },
  { machine: subscriptionMachine, table: subscriptionTable },
  { machine: shutdownMachine, table: shutdownTable },
]

/** Every event that any state of the table lists, and one that none does. */
export function alphabetOf(table: Table): string[] {
  return [...new Set(Object.values(table.rows).flatMap(row => Object.keys(row.on))), 'unheardOf']
}
