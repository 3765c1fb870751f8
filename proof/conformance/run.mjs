/** Bundles a program of this folder with the source as it is, and runs it: `main.ts`, or the one that is named first. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const named = process.argv[2]?.endsWith('.ts')
const entry = named ? process.argv[2] : 'proof/conformance/main.ts'
const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(root, 'node_modules', '.conformance-'))
try {
  const file = join(folder, 'main.mjs')
  await build({
    entryPoints: [join(root, entry)],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    alias: { '#platform': join(root, 'src/adapters/platform/node.ts') },
    logLevel: 'error',
  })
  const { status } = spawnSync(process.execPath, [file, ...process.argv.slice(named ? 3 : 2)], {
    cwd: root,
    stdio: 'inherit',
  })
  process.exitCode = status ?? 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
