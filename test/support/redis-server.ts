/** A Redis for one test file: real, with an append-only file, to be killed, restarted and broken at will. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Launched, redisLauncher } from './redis-launcher.js'

export interface RedisServer {
  readonly url: string
  readonly port: number
  /** Ends it as a crash would: acknowledged writes are in the append-only file. */
  kill(): Promise<void>
  /** Starts it again, on the same port and with the contents of its file. */
  start(): Promise<void>
  /** Ends it and removes its files. */
  stop(): Promise<void>
}

/** For stores of a Redis that is well: on a busy machine, too, none of its answers comes later. */
export const PATIENT = { commandTimeoutMs: 20_000 } as const

export interface RedisServerOptions {
  /** Lines of its configuration. @default lines that make it keep every write */
  readonly settings?: readonly string[]
  /** Run as a Sentinel, which watches other servers. */
  readonly sentinel?: boolean
}

const KEEPS_ALL = ['appendonly yes', 'appendfsync always', 'save ""', 'maxmemory-policy noeviction']

/** A server of one's own. */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const { settings = KEEPS_ALL, sentinel = false } = options
  const launch = await redisLauncher()
  const folder = await mkdtemp(join(tmpdir(), 'svc-redis-'))
  let port = await freePort()
  const file = join(folder, 'redis.conf')
  let running: Launched | undefined

  const configure = () => writeFile(file, [`port ${port}`, `dir ${folder}`, ...settings, ''].join('\n'))

  /** Another process may take a port between its being found free and being used. */
  async function startFirst(): Promise<void> {
    await configure()
    await start().catch(async (error: Error) => {
      if (!error.message.includes('Address already in use')) throw error
      port = await freePort()
      await configure()
      await start()
    })
  }

  async function start(): Promise<void> {
    running = await launch(port, folder, sentinel ? [file, '--sentinel'] : [file])
  }

  async function kill(): Promise<void> {
    const killed = running
    running = undefined
    await killed?.kill()
  }

  await startFirst()
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    kill,
    start,
    async stop() {
      await kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** A Redis for tests that neither kill nor configure it: the one that `REDIS_URL` names, or a server of one's own. */
export async function anyRedis(
  { REDIS_URL: url } = process.env,
  start: () => Promise<Pick<RedisServer, 'url' | 'stop'>> = startRedis,
): Promise<Pick<RedisServer, 'url' | 'stop'>> {
  return url ? { url, stop: async () => {} } : start()
}

/**
 * For a server that listens later, or again. No other server is given such a port meanwhile: systems give those above 32,767 to
 * whoever names none. Nor the one for the bus of a Redis in a Cluster, which is 10,000 above its own.
 */
export async function freePort(): Promise<number> {
  const server = createServer()
  try {
    const port = randomInt(12_000, 22_000)
    await once(server.listen(port, '127.0.0.1'), 'listening')
    server.close()
    await once(server, 'close')
    return port
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return freePort()
    throw error
  }
}
