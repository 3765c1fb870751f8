/** How this machine runs a Redis: a program on PATH, else Docker, else a program that apt brings, else a clear failure. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { binaryOnPath, fetchWithApt, hasApt, type RedisBinary } from './redis-binary.js'

export interface Launched {
  readonly process: ChildProcess
  /** Ends it at once, as a crash would. */
  kill(): void
}

/** @param args as `redis-server` takes them; the files that they name are in `folder`. */
export type Launcher = (port: number, folder: string, args: readonly string[]) => Launched

const WHAT_TO_DO =
  'The tests need a Redis: set REDIS_URL, put redis-server on PATH, start Docker, or run on Debian with apt.'

let found: Promise<Launcher> | undefined

export function redisLauncher(): Promise<Launcher> {
  found ??= find()
  return found
}

async function find(): Promise<Launcher> {
  const onPath = binaryOnPath()
  if (onPath) return programLauncher(onPath)
  if (dockerAnswers()) return dockerLauncher
  if (!hasApt()) throw new Error(WHAT_TO_DO)
  try {
    const fetched = await fetchWithApt()
    if (fetched) return programLauncher(fetched)
  } catch (cause) {
    throw new Error(`${WHAT_TO_DO} apt could not bring it.`, { cause })
  }
  throw new Error(WHAT_TO_DO)
}

export function programLauncher({ path, env }: RedisBinary): Launcher {
  return (_port, _folder, args) => {
    const process = spawn(path, [...args, '--bind', '127.0.0.1'], {
      argv0: 'redis-server',
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    return { process, kill: () => void process.kill('SIGKILL') }
  }
}

export function dockerAnswers(): boolean {
  return spawnSync('docker', ['version'], { timeout: 10_000 }).status === 0
}

/** Docker's own command instead of a library for it: the same container, and sixty packages fewer. */
const dockerLauncher: Launcher = (port, folder, args) => {
  const name = `svc-test-redis-${randomUUID()}`
  const user = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`
  const run = ['run', '--rm', '--name', name, '--user', user]
  const shared = ['--publish', `127.0.0.1:${port}:${port}`, '--volume', `${folder}:${folder}`]
  const settings = [...args, '--protected-mode', 'no']
  const container = spawn('docker', [...run, ...shared, 'redis:7', 'redis-server', ...settings], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { process: container, kill: () => void spawnSync('docker', ['kill', name]) }
}
