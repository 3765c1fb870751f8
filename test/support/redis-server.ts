/** A Redis for one test file: real, with an append-only file, to be killed, restarted and broken at will. */
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Launched, redisLauncher } from './redis-launcher.js'

export interface RedisServer {
  readonly url: string
  readonly port: number
  /** As a crash would: acknowledged writes are in the append-only file. */
  kill(): Promise<void>
  /** Again, on the same port and with what its file holds. */
  start(): Promise<void>
  /** For good. */
  stop(): Promise<void>
}

export interface RedisServerOptions {
  /** Lines of its configuration. @default what makes it keep everything */
  readonly settings?: readonly string[]
  /** Watch others instead of keeping anything. */
  readonly sentinel?: boolean
}

const KEEPS_ALL = ['appendonly yes', 'appendfsync always', 'save ""', 'maxmemory-policy noeviction']

/** A server of one's own. */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const { settings = KEEPS_ALL, sentinel = false } = options
  const launch = await redisLauncher()
  const folder = await mkdtemp(join(tmpdir(), 'svc-redis-'))
  const port = await freePort()
  const file = join(folder, 'redis.conf')
  const place = [`port ${port}`, `dir ${folder}`]
  await writeFile(file, [...place, ...settings, ''].join('\n'))
  let running: Launched | undefined

  async function start(): Promise<void> {
    running = launch(port, folder, sentinel ? [file, '--sentinel'] : [file])
    await readiness(running)
  }

  async function kill(): Promise<void> {
    if (!running) return
    const { process } = running
    const exited = once(process, 'exit')
    running.kill()
    running = undefined
    if (process.exitCode === null && process.signalCode === null) await exited
  }

  await start()
  const killAtExit = () => running?.kill()
  process.once('exit', killAtExit)
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    kill,
    start,
    async stop() {
      process.off('exit', killAtExit)
      await kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Any Redis that keeps what it is told: the one that `REDIS_URL` names, or one of one's own. */
export async function anyRedis(): Promise<Pick<RedisServer, 'url' | 'stop'>> {
  const url = process.env.REDIS_URL
  return url ? { url, stop: async () => {} } : startRedis()
}

function readiness({ process }: Launched): Promise<void> {
  return new Promise((resolve, reject) => {
    const said: string[] = []
    const lines = createInterface({ input: process.stdout! })
    lines.on('line', line => {
      said.push(line)
      if (/Ready to accept connections|Sentinel ID is/.test(line)) resolve()
    })
    process.once('error', reject)
    process.once('exit', code => reject(new Error(`redis-server ended with ${code}:\n${said.join('\n')}`)))
  })
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
