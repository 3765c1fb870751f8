/** `npm run simulate:planted [-- name … --random-rows]`: plants each bug in turn, and prints how soon the simulation finds it. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bundled } from '../bundle.mjs'
import { MADE_UP, ON_BALANCES, ON_FORGETTING, ON_PARTS, ON_UPSTREAMS, ONCE_THERE } from './bugs.mjs'

const CALLS_MAX = 100_000

const root = fileURLToPath(new URL('../../..', import.meta.url))
const folder = mkdtempSync(join(root, 'node_modules', '.planted-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const { values, positionals: wanted } = parseArgs({
  options: { 'random-rows': { type: 'boolean', default: false } },
  allowPositionals: true,
})
const rows = values['random-rows'] ? ['random-'] : []
console.log('| bug | interaction | seed | calls until found | invariant |\n|---|---|---:|---:|---|')
for (const { name, says, meets = '', edits } of [
  ...ONCE_THERE,
  ...MADE_UP,
  ...ON_BALANCES,
  ...ON_UPSTREAMS,
  ...ON_FORGETTING,
  ...ON_PARTS,
]) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const file = await bundled(join(folder, `${name}.mjs`), edits, 'proof/simulation/hunt.ts')
  const said = execFileSync(process.execPath, [file, String(CALLS_MAX), ...rows], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const found = said.trim() === '' ? undefined : JSON.parse(said.trim().split('\n').at(-1))
  if (!found) process.exitCode = 1
  const row = found ? `${found.seed} | ${found.calls} | \`${found.invariant}\`` : ` | not in ${CALLS_MAX} | `
  console.log(`| ${says} | ${meets} | ${row} |`)
}
