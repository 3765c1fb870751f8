/** How this machine runs a Redis: a program on PATH, else a container, else a program that apt brings, else a clear failure. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { binaryOnPath, fetchWithApt, hasApt, type RedisBinary } from './redis-binary.js'
import { containerLauncher, dockerAnswers, READY } from './redis-container.js'

/** A Redis that accepts connections. */
export interface Launched {
  /** Ends it at once, as a crash would. Resolves when it has ended. */
  kill(): Promise<void>
}

/** @param args as `redis-server` takes them; the files that they name are in `folder`. */
export type Launcher = (port: number, folder: string, args: readonly string[]) => Promise<Launched>

/** What the choice depends on. */
export interface Machine {
  binaryOnPath(): RedisBinary | undefined
  dockerAnswers(): Promise<boolean>
  hasApt(): boolean
  fetchWithApt(): Promise<RedisBinary | undefined>
}

export type WayToRun =
  | { readonly kind: 'program'; readonly binary: RedisBinary }
  | { readonly kind: 'container' }

const WHAT_TO_DO =
  'The tests need a Redis: set REDIS_URL, put redis-server on PATH, start Docker, or run on Debian with apt.'

const THIS_MACHINE: Machine = { binaryOnPath, dockerAnswers, hasApt, fetchWithApt }

let chosen: Promise<Launcher> | undefined

export function redisLauncher(): Promise<Launcher> {
  chosen ??= wayToRun(THIS_MACHINE).then(way =>
    way.kind === 'program' ? programLauncher(way.binary) : containerLauncher,
  )
  return chosen
}

/** Each step is taken only where the one before it finds nothing. @throws Error that says what to do */
export async function wayToRun(machine: Machine): Promise<WayToRun> {
  const onPath = machine.binaryOnPath()
  if (onPath) return { kind: 'program', binary: onPath }
  if (await machine.dockerAnswers()) return { kind: 'container' }
  if (!machine.hasApt()) throw new Error(WHAT_TO_DO)
  let fetched: RedisBinary | undefined
  try {
    fetched = await machine.fetchWithApt()
  } catch (cause) {
    throw new Error(`${WHAT_TO_DO} apt could not bring it.`, { cause })
  }
  if (!fetched) throw new Error(WHAT_TO_DO)
  return { kind: 'program', binary: fetched }
}

export function programLauncher({ path, env }: RedisBinary): Launcher {
  return async (_port, _folder, args) => {
    const server = spawn(path, [...args, '--bind', '127.0.0.1'], {
      argv0: 'redis-server',
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const killAtExit = () => void server.kill('SIGKILL')
    process.once('exit', killAtExit)
    server.once('exit', () => process.off('exit', killAtExit))
    await readiness(server)
    return {
      async kill() {
        if (server.exitCode !== null || server.signalCode !== null) return
        const exited = once(server, 'exit')
        server.kill('SIGKILL')
        await exited
      },
    }
  }
}

function readiness(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    const printed: string[] = []
    const lines = createInterface({ input: server.stdout! })
    lines.on('line', line => {
      printed.push(line)
      if (READY.test(line)) resolve()
    })
    server.once('error', reject)
    server.once('exit', code => reject(new Error(`redis-server ended with ${code}:\n${printed.join('\n')}`)))
  })
}
