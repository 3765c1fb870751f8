/** Finds a `redis-server`, or fetches one with apt. Debian's `redis-tools` holds the server without a service to start. */
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withApt } from './apt.js'

export interface RedisBinary {
  readonly path: string
  readonly env: NodeJS.ProcessEnv
}

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/redis', import.meta.url))

/** The server is whatever this program is called as; Debian ships it under the second name. */
const NAMES = ['redis-server', 'redis-check-rdb']

export function binaryOnPath(path = process.env.PATH ?? ''): RedisBinary | undefined {
  return binaryIn(path.split(delimiter))
}

function binaryIn(folders: readonly string[], env: NodeJS.ProcessEnv = process.env): RedisBinary | undefined {
  for (const name of NAMES) {
    for (const folder of folders) {
      const path = join(folder, name)
      if (isExecutable(path)) return { path, env }
    }
  }
  return undefined
}

export function hasApt(): boolean {
  return spawnSync('apt-get', ['--version']).status === 0
}

const INSTALL = `
command -v redis-check-rdb || apt-get install -y --no-install-recommends redis-tools ||
  { apt-get update && apt-get install -y --no-install-recommends redis-tools; }`

/** What is not installed yet of the package and what it depends on, unpacked side by side. */
const UNPACK = `
[ -d unpacked ] && exit 0
rm -rf debs unpacking && mkdir debs unpacking && cd debs
apt-get download $(apt-get install --simulate --no-install-recommends redis-tools | awk '/^Inst/ {print $2}')
for deb in *.deb; do dpkg-deb --extract "$deb" ../unpacking; done
cd .. && mv unpacking unpacked`

/** One process fetches, the others wait for it at the lock. @throws Error with apt's own words. */
export async function fetchWithApt(
  asRoot = process.getuid?.() === 0,
  cache = CACHE,
): Promise<RedisBinary | undefined> {
  await withApt(asRoot ? INSTALL : UNPACK, cache)
  if (asRoot) return binaryOnPath()
  const root = join(cache, 'unpacked/usr')
  const libraries = readdirSync(join(root, 'lib')).map(folder => join(root, 'lib', folder))
  return binaryIn([join(root, 'bin')], { ...process.env, LD_LIBRARY_PATH: libraries.join(delimiter) })
}

function isExecutable(path: string): boolean {
  if (!existsSync(path)) return false
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
