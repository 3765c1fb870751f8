/** The blocks of Python in docs/interop.md run as they are written, with a signer in the place of the reader's own. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { runModule } from './python-peer.js'

const PAGE = readFileSync(new URL('../../docs/interop.md', import.meta.url), 'utf8')
const blocks = [...PAGE.matchAll(/^```python\n([\s\S]*?)^```/gm)].map(([, code]) => code!)

it('the page shows Python', () => {
  expect(blocks.length).toBeGreaterThan(0)
})

it.each(blocks)('%s', async code => {
  const { status, stderr } = await runModule('current', `signer = object()\n${code}`, [])
  expect([status, stderr]).toEqual([0, ''])
})
