/** What the proof is worth: each single edge of the charge machine dropped, and led to each other state, is noticed. */
import { describe, expect, it } from 'vitest'
import { proveCharge } from '../../src/audit/proofs/all-machines.js'
import { holds } from '../../src/audit/proofs/check-machine-properties.js'
import { chargeMachine, chargeTable } from '../../src/domain/machines/charge.machine.js'
import { type Drawing, machineOf, tableOf } from '../../src/domain/state-machine/transition-table.js'

interface Mutant {
  /** `state.event`. */
  readonly edge: string
  /** Where it leads now; `undefined` where it was dropped. */
  readonly to: string | undefined
}

const REPORT = '../../proof/mutation/mutants.md'
const drawing = chargeMachine.config as unknown as Drawing
const states = Object.keys(chargeTable.rows)
const edges = Object.entries(chargeTable.rows).flatMap(([state, { on }]) =>
  Object.entries(on).map(([event, to]) => ({ state, event, to })),
)
const mutants = edges.flatMap(({ state, event, to }): Mutant[] => [
  { edge: `${state}.${event}`, to: undefined },
  ...states.filter(other => other !== to).map(other => ({ edge: `${state}.${event}`, to: other })),
])
const results = mutants.map(mutant => ({ ...mutant, killer: killerOf(mutant) }))

describe(`the ${mutants.length} single-edge mutants of the charge machine`, () => {
  it('the drawing that is not mutated is proved', () => {
    expect([...proveCharge(tableOf(machineOf(drawing)))].filter(proof => !holds(proof))).toEqual([])
  })

  it('each is killed', () => {
    console.log(
      killers()
        .map(([killer, kills]) => `${String(kills).padStart(5)}  ${killer}`)
        .join('\n'),
    )
    const alive = results.filter(({ killer }) => killer === undefined)
    expect(alive.map(({ edge, to }) => `${edge} -> ${to ?? 'dropped'}`)).toEqual([])
  })

  it('proof/mutation/mutants.md says what killed each: `npm run draw` writes it', async () => {
    await expect(report()).toMatchFileSnapshot(REPORT)
  })
})

/** The first thing that notices: the table that refuses to be read, or a property that is not true any more. */
function killerOf({ edge, to }: Mutant): string | undefined {
  const mutant = structuredClone(drawing) as { states: Record<string, { on: Record<string, string> }> }
  const [state, event] = edge.split('.') as [string, string]
  const { on } = mutant.states[state]!
  if (to === undefined) delete on[event]
  else on[event] = to
  try {
    for (const proof of proveCharge(tableOf(machineOf(mutant as unknown as Drawing))))
      if (!holds(proof)) return proof.says
    return undefined
  } catch (cause) {
    return (cause as Error).message.replace(
      /^.*(comes back to|leads back to itself).*$/,
      'refused: a state $1',
    )
  }
}

function killers(): [killer: string, kills: number][] {
  const counted = new Map<string, number>()
  for (const { killer = 'nothing' } of results) counted.set(killer, (counted.get(killer) ?? 0) + 1)
  return [...counted].sort(([, a], [, b]) => b - a)
}

/** Small letters, then capitals. */
function letterAt(at: number): string {
  return String.fromCharCode(at < 26 ? 97 + at : 65 + at - 26)
}

function report(): string {
  const letters = new Map(killers().map(([killer], at) => [killer, letterAt(at)]))
  const letter = (killer = 'nothing') => `**${letters.get(killer)}**`
  const row = ({ state, event, to }: (typeof edges)[number]) => {
    const edge = `${state}.${event}`
    const [dropped, ...led] = results.filter(result => result.edge === edge)
    const told = killers().flatMap(([killer]) => {
      const killed = led.filter(mutant => mutant.killer === killer).map(mutant => mutant.to)
      return killed.length === 0 ? [] : `${letter(killer)} ${killed.join(', ')}`
    })
    return `| \`${edge}\` | ${to} | ${letter(dropped!.killer)} | ${told.join('<br>')} |`
  }
  return `${[
    '# Mutants of the charge machine',
    '',
    'Written by `npm run draw` and held against the machine by `test/machines/mutants.test.ts`. Each edge of the drawing is',
    'dropped, and led to each other state, one at a time; the proof that `svc machines charge --prove` prints is run on what',
    'comes out. The letter names the first thing that noticed.',
    '',
    `${mutants.length} mutants of ${edges.length} edges, ${results.filter(({ killer }) => killer === undefined).length} alive.`,
    '',
    '| | killed | noticed by |',
    '|---|---|---|',
    ...killers().map(([killer, kills]) => `| ${letter(killer)} | ${kills} | ${killer} |`),
    '',
    '| edge | leads to | dropped | led elsewhere |',
    '|---|---|---|---|',
    ...edges.map(row),
  ].join('\n')}\n`
}
