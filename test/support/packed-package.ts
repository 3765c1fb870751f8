/** The package as a stranger gets it: packed, and installed into an empty project. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface PackedPackage {
  /** The folder of the project that has the package. */
  readonly project: string
  readonly files: readonly string[]
  readonly packedBytes: number
  close(): Promise<void>
}

/** Packs what `npm run build` has built. The project asks for no other package. */
export async function installPacked(): Promise<PackedPackage> {
  const project = await mkdtemp(join(tmpdir(), 'svc-consumer-'))
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', project]
  const { stdout } = await run('npm', pack, { cwd: ROOT })
  const [packed] = JSON.parse(stdout)
  const manifest = { name: 'consumer', type: 'module', private: true }
  await writeFile(join(project, 'package.json'), JSON.stringify(manifest))
  const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', join(project, packed.filename)]
  await run('npm', install, { cwd: project })
  return {
    project,
    files: packed.files.map(({ path }: { path: string }) => path),
    packedBytes: packed.size,
    close: () => rm(project, { recursive: true, force: true }),
  }
}
