/**
 * Writes a machine in Graphviz' language. A final state is drawn once for each state that leads to it: no line
 * crosses the page, and each way out is shown where it begins.
 */

import { moves } from '../../src/audit/proofs/all-machines.js'
import type { Row, Table } from '../../src/domain/state-machine/transition-table.js'

const GRAPH = `
  rankdir=TB bgcolor="white" nodesep=0.18 ranksep=0.42 pad=0.2
  node [fontname="Helvetica" fontsize=12 shape=box style="rounded" height=0.42 margin="0.16,0.05"]
  edge [fontname="Helvetica" fontsize=10 arrowsize=0.6]`

export function dot(table: Table): string {
  const states = Object.entries(table.rows)
  const working = states.filter(([, { final }]) => !final)
  return [
    `digraph ${quoted(table.id)} {${GRAPH}`,
    '  start [shape=circle width=0.14 height=0.14 fixedsize=true style=filled label="" class="start"]',
    `  start -> ${quoted(table.initial)}`,
    ...working.map(
      ([state, row]) => `  ${quoted(state)} [class="state" label=${quoted(state)} ${tooltip(row)}]`,
    ),
    ...working.flatMap(([state, row]) => moves(row.on).flatMap(move => drawnMove(table, state, move))),
    '}',
    '',
  ].join('\n')
}

function drawnMove(table: Table, state: string, [to, events]: readonly [string, string]): string[] {
  const label = `label=${quoted(`  ${events.replaceAll(', ', '  \n  ')}  `)}`
  const target = table.rows[to]!
  if (!target.final) return [`  ${quoted(state)} -> ${quoted(to)} [weight=8 ${label}]`]
  const end = quoted(`${state}/${to}`)
  return [
    `  ${end} [class=${quoted(`final ${chargedOf(target)}`)} label=${quoted(finalLabel(to, target))}]`,
    `  ${quoted(state)} -> ${end} [${label}]`,
  ]
}

function finalLabel(state: string, { meta }: Row): string {
  return meta.status === undefined ? state : `${meta.status}\n${state}`
}

function chargedOf({ meta }: Row): string {
  return meta.charged === undefined ? 'no' : String(meta.charged)
}

function tooltip({ effect }: Row): string {
  return effect === null ? '' : `tooltip=${quoted(`effect: ${effect}`)}`
}

function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`
}
