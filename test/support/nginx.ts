/**
 * nginx with `deploy/nginx.conf`, in front of sellers that run here. Only what names places is changed: the port, the
 * replicas, the folder for temporary files. nginx is the one on PATH, or unpacked from Debian's package: installed, it would
 * start a server on port 80.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withApt } from './apt.js'
import { freePort } from './redis-server.js'

export interface Nginx {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

const CONF = fileURLToPath(new URL('../../deploy/nginx.conf', import.meta.url))
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/nginx', import.meta.url))

const UNPACK = `
[ -d unpacked ] && exit 0
rm -rf debs unpacking && mkdir debs unpacking && cd debs
wanted() { apt-get install --simulate --no-install-recommends nginx-light | awk '/^Inst/ {print $2}'; }
apt-get download $(wanted) || { apt-get update && apt-get download $(wanted); }
for deb in *.deb; do dpkg-deb --extract "$deb" ../unpacking; done
cd .. && mv unpacking unpacked`

interface Program {
  readonly path: string
  readonly env: NodeJS.ProcessEnv
}

/** @throws Error with apt's own words where there is no nginx and none can be had. */
async function program(): Promise<Program> {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
  const path = folders.map(folder => join(folder, 'nginx')).find(existsSync)
  if (path) return { path, env: process.env }
  await withApt(UNPACK, CACHE)
  const root = join(CACHE, 'unpacked/usr')
  const lib = join(root, 'lib')
  const libraries = existsSync(lib) ? readdirSync(lib).map(folder => join(lib, folder)) : []
  return {
    path: join(root, 'sbin/nginx'),
    env: { ...process.env, LD_LIBRARY_PATH: libraries.join(delimiter) },
  }
}

/** @param change of the configuration, where a test cannot wait for its minutes. */
export async function startNginx(
  replicas: readonly string[],
  change: (conf: string) => string = conf => conf,
): Promise<Nginx> {
  const { path, env } = await program()
  const folder = await mkdtemp(join(tmpdir(), 'svc-nginx-'))
  // Started by root, its workers are somebody else.
  await chmod(folder, 0o755)
  const port = await freePort()
  const servers = replicas.map(url => `server ${new URL(url).host} max_fails=1 fail_timeout=2s;`)
  const conf = readFileSync(CONF, 'utf8')
    .replace(/server 127\.0\.0\.1:4021 .*\n/, `${servers.join('\n')}\n`)
    .replace(/^\s*server 127\.0\.0\.1:402[23] .*\n/gm, '')
    .replaceAll('listen 8080', `listen 127.0.0.1:${port}`)
    .replaceAll(/ \/tmp\//g, ` ${folder}/`)
  const file = join(folder, 'nginx.conf')
  await writeFile(file, change(conf))
  const child = spawn(path, ['-e', 'stderr', '-c', file, '-g', 'daemon off;'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', chunk => {
    said += chunk
  })
  while (!(await answers(port))) if (child.exitCode !== null) throw new Error(`nginx ended:\n${said}`)
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    async close() {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
