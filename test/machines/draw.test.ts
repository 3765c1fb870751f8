/** docs/machines is what is drawn in src/domain/machines, today: `npm run draw` writes it, and here it is compared. */
import { Graphviz } from '@hpcc-js/wasm-graphviz'
import { beforeAll, describe, expect, it } from 'vitest'
import { createMachine } from 'xstate'
import { MACHINES, mermaid, stately } from '../../src/audit/proofs/all-machines.js'
import { lifecycleOf, tableOf } from '../../src/domain/state-machine/transition-table.js'
import { dot } from './graphviz-dot.js'
import { machinePage } from './markdown-page.js'
import { dressed } from './svg-styles.js'

const DRAWINGS = '../../docs/machines'

let graphviz: Graphviz
beforeAll(async () => {
  graphviz = await Graphviz.load()
})

describe.each(MACHINES)('the drawing of the $table.id machine', drawn => {
  const { machine, table } = drawn

  it('as Markdown with Mermaid is not stale', async () => {
    await expect(machinePage(drawn)).toMatchFileSnapshot(`${DRAWINGS}/${table.id}.md`)
  })

  it('as SVG is not stale', async () => {
    const svg = dressed(graphviz.layout(dot(table), 'svg', 'dot'), `The ${table.id} machine`)
    await expect(svg).toMatchFileSnapshot(`${DRAWINGS}/${table.id}.svg`)
  })

  it('as Mermaid has every move of the table, under its event', () => {
    const text = mermaid(table)
    for (const [state, { on }] of Object.entries(table.rows)) {
      for (const [event, to] of Object.entries(on)) {
        expect(text).toMatch(new RegExp(`^  ${state} --> ${to}: (.*, )?${event}(,|$)`, 'm'))
      }
    }
  })

  it('as xstate JSON is the machine again', () => {
    const again = createMachine(JSON.parse(stately(machine))) as unknown as typeof machine
    const read = table.rows[table.initial]!.effect === null ? lifecycleOf : tableOf
    expect(read(again)).toEqual(table)
  })
})
