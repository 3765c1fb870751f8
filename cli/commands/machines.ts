/** `svc machines`: prints the drawings that run, every path through them, and the proof of their properties. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  allPathsOf,
  type Drawn,
  holds,
  MACHINES,
  type MachinePath,
  mermaid,
  type Proof,
  stately,
} from '../../src/audit/index.js'
import { SvcError } from '../../src/domain/index.js'
import { command } from '../define-command.js'
import { json, type Shown, tell, writeResult } from '../output.js'
import { PACKAGE_FOLDER } from '../package.js'

type Format = 'mermaid' | 'svg' | 'json'

const NAMES = MACHINES.map(({ table }) => table.id).join(', ')

export const machinesCommand = command({
  name: 'machines',
  says: 'print the machines that every paid call runs on, their paths, and the proof of their properties',
  takes: [['[name]', `one of ${NAMES} (default: all)`]],
  flags: [
    ['--format <format>', 'how to draw', { choices: ['mermaid', 'svg', 'json'] }],
    ['--paths', 'list every path from the first state to a final one, and what it means to the caller'],
    ['--prove', 'check the properties on every path and every state; exit code 1 if one does not hold'],
    ['--json', 'print paths and proofs as JSON'],
  ],
  help: `
--format json is an xstate machine: stately.ai/editor opens it.

Examples:
  $ svc machines charge --prove
  $ svc machines charge --paths
  $ svc machines charge --format svg > charge.svg`,
}).does(async (name, flags) => {
  const chosen = name === undefined ? MACHINES : [named(name)]
  if (flags.paths) return printPaths(name === undefined ? [named('charge')] : chosen, flags)
  if (flags.prove) return printProofs(chosen, flags)
  if (flags.format === undefined && name === undefined) return printList(flags)
  for (const drawn of chosen) writeResult(await drawingOf(drawn, flags.format ?? 'mermaid'))
})

function named(name: string): Drawn {
  const drawn = MACHINES.find(({ table }) => table.id === name)
  if (drawn === undefined) throw new SvcError(`There is no machine '${name}': ${NAMES}`, 'invalid_request')
  return drawn
}

async function drawingOf({ machine, table }: Drawn, format: Format): Promise<string> {
  if (format !== 'svg') return format === 'json' ? stately(machine) : mermaid(table)
  // The SVG was laid out when the machine was drawn, and is committed: printing it needs no Graphviz.
  return published(`${table.id}.svg`)
}

const published = (file: string) => readFile(join(PACKAGE_FOLDER, 'docs/machines', file), 'utf8')

function printList(flags: Shown): void {
  const list = MACHINES.map(({ table }) => {
    const rows = Object.values(table.rows)
    const moves = rows.flatMap(({ on }) => Object.keys(on)).length
    return { name: table.id, states: rows.length, final: rows.filter(row => row.final).length, moves }
  })
  const told = list.map(
    one => [one.name, `${one.states} states, ${one.final} final, ${one.moves} moves`] as const,
  )
  tell(flags, json(list, 'indented'), told)
}

function printPaths(chosen: readonly Drawn[], flags: Shown): void {
  for (const { table } of chosen) {
    const ways = allWays(table).map(way => ({ ...told(way, table), path: way.steps }))
    const lines = ways.map(({ status, code, charged, path }) =>
      [status, `charged ${charged}`.padEnd(15), code.padEnd(24), path.join(' ')].join('  '),
    )
    tell(flags, json(ways, 'indented'), [...lines, `${ways.length} paths`])
  }
}

function allWays(table: Drawn['table']): readonly MachinePath[] {
  const finals = Object.values(table.rows).some(({ final }) => final)
  if (finals) return allPathsOf(table)
  throw new SvcError(`The ${table.id} machine has no final state: its paths have no end`, 'invalid_request')
}

function told({ final }: MachinePath, { rows }: Drawn['table']) {
  const { status = '-', code = final, charged = 'no' } = rows[final]!.meta
  return { final, status, code: String(code), charged }
}

/** Three calls take minutes to explore: what the explorer last found of the moves of charges is read, and not found anew. */
async function printProofs(chosen: readonly Drawn[], flags: Shown): Promise<void> {
  const proofs = chosen.flatMap(drawn =>
    [...drawn.prove()].map(proof => ({ machine: drawn.table.id, ...proof })),
  )
  if (chosen.includes(named('charge'))) proofs.push(...JSON.parse(await published('explored.json')))
  const lines = proofs.flatMap(proof => provedLines(proof.machine, proof))
  tell(flags, json(proofs, 'indented'), lines)
  const failed = proofs.filter(proof => !holds(proof))
  if (failed.length > 0) throw new SvcError(`${failed.length} properties do not hold`, 'not_proved')
}

function provedLines(machine: string, proof: Proof): string[] {
  const { says, of, checked, refuted } = proof
  const verdict = holds(proof) ? 'holds' : 'FAILS'
  const line = `${verdict}  ${machine.padEnd(12)}  ${String(checked).padStart(8)} ${of.padEnd(6)}  ${says}`
  return [line, ...refuted.map(way => `         not on ${way}`)]
}
