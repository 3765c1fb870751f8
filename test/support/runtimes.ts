/**
 * The runtimes that the package is tested on, from their npm packages: half a gigabyte, unpacked (Node 24 189 MB, Bun 103,
 * Deno 92, workerd 160). They are no development dependencies, because who installs this package from git installs those
 * too. The first test that asks puts them under `node_modules/.cache`, which takes 15 s; later runs find them there.
 */
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url))

const PACKAGES = {
  node20: 'npm:node@20.20.1',
  node24: 'npm:node@24.21.0',
  bun: '1.4.5',
  deno: '2.9.6',
  workerd: '1.20261117.1',
} as const

export type RuntimeName = keyof typeof PACKAGES

/** The path of a runtime's program. */
export async function runtimePath(name: RuntimeName): Promise<string> {
  // The one that runs the tests need not be fetched.
  if (name === `node${process.versions.node.split('.')[0]}`) return process.execPath
  const version = PACKAGES[name]
  const folder = join(CACHE, 'svc-runtimes', `${name}-${version.replace(/^.*@/, '')}`)
  await mkdir(folder, { recursive: true })
  const manifest = { private: true, dependencies: { [name]: version } }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  const bin = join(folder, 'node_modules/.bin', name.replace(/\d+$/, ''))
  // Two tests at once would install into each other's folder.
  const install = `test -x "$1" || npm install --prefer-offline --no-audit --no-fund --no-package-lock`
  await promisify(execFile)('flock', [join(folder, 'lock'), 'sh', '-c', install, 'sh', bin], { cwd: folder })
  return bin
}
