/** Writes the page of one machine in docs/machines: its drawing, its states, and its proof. */

import { type Drawn, mermaid } from '../../src/audit/proofs/all-machines.js'
import type { Drawing, Row } from '../../src/domain/state-machine/transition-table.js'

const INTRO =
  'Written by `npm run draw` from the machine that the program runs on; a test fails when this page is stale.'

export function machinePage({ machine, table, prove }: Drawn): string {
  const rows = Object.entries(table.rows)
  const { states } = machine.config as unknown as Drawing
  return [
    `# The ${table.id} machine`,
    '',
    INTRO,
    '',
    `![The ${table.id} machine](${table.id}.svg)`,
    '',
    '```mermaid',
    mermaid(table).trimEnd(),
    '```',
    '',
    '| state | effect | event → next | |',
    '|---|---|---|---|',
    ...rows
      .filter(([, { final }]) => !final)
      .map(
        ([state, row]) =>
          `| ${state} | ${row.effect ?? ''} | ${movesOf(row)} | ${states[state]!.description ?? ''} |`,
      ),
    '',
    ...ends(rows.filter(([, { final }]) => final)),
    '## Proved',
    '',
    '| checked on | |',
    '|---|---|',
    ...[...prove()].map(({ checked, of, says }) => `| ${checked} ${of} | ${says} |`),
    '',
  ].join('\n')
}

function movesOf({ on }: Row): string {
  return Object.entries(on)
    .map(([event, to]) => `${event} → ${to}`)
    .join('<br>')
}

/** The table of the final states. Its columns are the fields of their meta. */
function ends(finals: readonly (readonly [string, Row])[]): string[] {
  const [first] = finals
  if (first === undefined) return []
  const names = Object.keys(first[1].meta)
  return [
    `| final state | ${names.join(' | ')} |`,
    `|---|${names.map(() => '---|').join('')}`,
    ...finals.map(
      ([state, { meta }]) => `| ${state} | ${names.map(name => String(meta[name])).join(' | ')} |`,
    ),
    '',
  ]
}
