/**
 * A Redis for one row: fresh, on a free port, in a folder of its own; or the empty database that `REDIS_URL` names. Set
 * up as docs/storage.md asks for.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { refuse } from '../refuse.mjs'

const SETTINGS = {
  appendonly: 'yes',
  appendfsync: 'everysec',
  // A file that is rewritten in the middle of a round would cost it a core.
  'auto-aof-rewrite-percentage': '0',
  save: '',
  maxmemory: '0',
  'maxmemory-policy': 'noeviction',
}

export async function startRedis() {
  const given = process.env.REDIS_URL
  const { url, end } = given ? { url: given, end() {} } : await launch()
  const admin = new Redis(url, { maxRetriesPerRequest: 1 })
  if ((await admin.dbsize()) > 0)
    refuse('REDIS_URL names a database that is not empty; the bench would flush it')
  const [version] = await told(admin, 'redis_version')
  return {
    url,
    admin,
    version,
    async memoryBytes() {
      return Number(await told(admin, 'used_memory'))
    },
    cpuUs: () => usedUs(admin),
    /** What its one thread that runs commands has used, and how many it ran, those inside scripts included. */
    async work() {
      const fields = ['used_cpu_user_main_thread', 'used_cpu_sys_main_thread', 'total_commands_processed']
      const [user, system, commands] = (await told(admin, ...fields)).map(Number)
      return { mainUs: (user + system) * 1e6, commands }
    },
    async stop() {
      if (given) await admin.flushdb()
      admin.disconnect()
      await end()
    },
  }
}

/** Three nodes that share all slots, each as above. Never one that is given: it would be flushed. */
export async function startCluster() {
  const launched = await Promise.all(
    Array.from({ length: 3 }, () =>
      launch({ 'cluster-enabled': 'yes', 'cluster-require-full-coverage': 'yes' }),
    ),
  )
  const admins = launched.map(({ url }) => new Redis(url, { maxRetriesPerRequest: 1 }))
  const nodes = launched.map(({ url }) => ({ host: '127.0.0.1', port: Number(new URL(url).port) }))
  const share = Math.ceil(SLOTS / nodes.length)
  for (const [at, admin] of admins.entries()) {
    const last = Math.min((at + 1) * share, SLOTS) - 1
    await admin.cluster('ADDSLOTSRANGE', at * share, last)
    for (const { host, port } of nodes) await admin.cluster('MEET', host, port)
  }
  const isWhole = async admin => /^cluster_state:ok\r$/m.test(await admin.cluster('INFO'))
  while (!(await Promise.all(admins.map(isWhole))).every(Boolean)) await setTimeout(100)
  return {
    nodes,
    cpuUs: async () => (await Promise.all(admins.map(usedUs))).reduce((sum, us) => sum + us),
    async stop() {
      for (const admin of admins) admin.disconnect()
      await Promise.all(launched.map(({ end }) => end()))
    },
  }
}

const SLOTS = 16_384

async function told(admin, ...fields) {
  const info = await admin.info()
  return fields.map(field => new RegExp(`^${field}:(\\S+)`, 'm').exec(info)[1])
}

/** Microseconds of CPU used so far, by all of its threads. */
export async function usedUs(admin) {
  const [user, system] = await told(admin, 'used_cpu_user', 'used_cpu_sys')
  return (Number(user) + Number(system)) * 1e6
}

async function launch(more = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-redis-'))
  const port = await freePort()
  const place = { port: String(port), bind: '127.0.0.1', dir: folder }
  const args = Object.entries({ ...place, ...SETTINGS, ...more }).flatMap(([name, value]) => [
    `--${name}`,
    value,
  ])
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit').catch(() =>
    refuse('these rows need a Redis: put redis-server on PATH, or set REDIS_URL to an empty database'),
  )
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const killed = () => {
    child.kill('SIGKILL')
    remove()
  }
  process.once('exit', killed)
  await readiness(child)
  return {
    url: `redis://127.0.0.1:${port}`,
    async end() {
      process.off('exit', killed)
      child.kill('SIGKILL')
      await exited
      remove()
    },
  }
}

async function readiness({ stdout }) {
  for await (const line of createInterface({ input: stdout })) if (/Ready to accept/.test(line)) return
  throw new Error('redis-server ended before it was ready')
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  await new Promise(resolve => server.close(resolve))
  return port
}
