/** Runs the peers in `python/`: a task goes in as a line of JSON, and a line of JSON comes out. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { type Environment, pythonOf } from './environments.js'

const PEERS = new URL('python/', import.meta.url)

/** A peer that ends by itself, and its answer. */
export async function runPeer<Answer>(
  environment: Environment,
  file: string,
  task: unknown,
): Promise<Answer> {
  const { child, first, ended } = await started(environment, file, task)
  child.stdin.end()
  const answer = await first
  await ended
  return answer as Answer
}

/** A server, and what it says as soon as it listens. It lives as long as its standard input is open. */
export async function startPeer<Said>(environment: Environment, file: string, task: unknown) {
  const { child, first, ended } = await started(environment, file, task)
  const said = (await first) as Said
  return {
    ...said,
    close() {
      child.stdin.end()
      return ended
    },
  }
}

/** A program of the environment's packages, with what it printed. */
export async function runModule(environment: Environment, code: string, args: readonly string[]) {
  const child = spawn(await pythonOf(environment), ['-I', '-c', code, ...args], { env: own() })
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { stdout, stderr, status: status as number | null }
}

async function started(environment: Environment, file: string, task: unknown) {
  const path = fileURLToPath(new URL(file, PEERS))
  const child = spawn(await pythonOf(environment), ['-B', path], { env: own() })
  const stderr = text(child.stderr)
  const ended = endOf(child, file, stderr)
  const lines = createInterface({ input: child.stdout })
  const line = new Promise<string>(resolve => lines.once('line', resolve))
  child.stdin.write(`${JSON.stringify(task)}\n`)
  const silent = ended.then(async () => {
    // A line that is already on its way wins.
    return JSON.stringify({ error: `${file} said nothing: ${(await stderr).slice(-2_000)}` })
  })
  const first = Promise.race([line, silent]).then(said => JSON.parse(said) as unknown)
  return { child, first, ended }
}

async function endOf(child: ChildProcess, file: string, stderr: Promise<string>): Promise<void> {
  const [status] = (await once(child, 'close')) as [number | null]
  if (status === 0) return
  throw new Error(`${file} ended with ${status}: ${(await stderr).slice(-2_000)}`)
}

/** No proxy, no key and no setting of this machine reaches a peer: it speaks to loopback alone. */
function own(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LANG: 'C.UTF-8', NO_PROXY: '*', PYTHONUNBUFFERED: '1' }
}
