/** Bundles the explorer with the source as it is, and runs it. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundled } from '../simulation/bundle.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(root, 'node_modules', '.explorer-'))
try {
  const file = await bundled(join(folder, 'main.mjs'), [], 'proof/model/main.ts')
  const { status } = spawnSync(process.execPath, [file, ...process.argv.slice(2)], {
    stdio: 'inherit',
    cwd: root,
  })
  process.exitCode = status ?? 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
