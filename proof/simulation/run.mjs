/** Bundles the simulation with the source as it is, and runs it. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundled } from './bundle.mjs'

/** Episodes leave much behind that dies young: with V8's own 16 MB a run takes 8 % longer. */
const YOUNG = '--max-semi-space-size=32'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(root, 'node_modules', '.simulation-'))
try {
  const file = await bundled(join(folder, 'main.mjs'))
  const { status } = spawnSync(process.execPath, [YOUNG, file, ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
  process.exitCode = status ?? 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
