/** The package as a stranger gets it: packed, in an empty project. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface PackedPackage {
  /** The folder of the project that has the package. */
  readonly project: string
  readonly files: readonly string[]
  readonly packedBytes: number
  readonly tarball: string
  close(): Promise<void>
}

/** Installs it as npm does, from what `npm run build` has built, and the other packages that the project asks for. */
export async function installPacked(...others: readonly string[]): Promise<PackedPackage> {
  const packed = await pack()
  const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', packed.tarball, ...others]
  await run('npm', install, { cwd: packed.project })
  return packed
}

/** The same files, with this repository's packages for its dependencies: an installation takes seconds. */
export async function unpackPacked(): Promise<PackedPackage> {
  const packed = await pack()
  const modules = join(packed.project, 'node_modules')
  const folder = join(modules, '@svc/sdk')
  await mkdir(folder, { recursive: true })
  await run('tar', ['-xzf', packed.tarball, '-C', folder, '--strip-components=1'])
  const { dependencies, optionalDependencies } = JSON.parse(
    await readFile(join(folder, 'package.json'), 'utf8'),
  )
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    await mkdir(dirname(join(modules, name)), { recursive: true })
    await symlink(join(ROOT, 'node_modules', name), join(modules, name))
  }
  return packed
}

async function pack(): Promise<PackedPackage> {
  const project = await mkdtemp(join(tmpdir(), 'svc-consumer-'))
  const options = ['--json', '--ignore-scripts', '--pack-destination', project]
  const { stdout } = await run('npm', ['pack', ...options], { cwd: ROOT })
  const [packed] = JSON.parse(stdout)
  const manifest = { name: 'consumer', type: 'module', private: true }
  await writeFile(join(project, 'package.json'), JSON.stringify(manifest))
  return {
    tarball: join(project, packed.filename),
    project,
    files: packed.files.map(({ path }: { path: string }) => path),
    packedBytes: packed.size,
    close: () => rm(project, { recursive: true, force: true }),
  }
}
