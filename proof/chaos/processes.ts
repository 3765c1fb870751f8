/** Children that say on their first line, as JSON, that they are ready; and that may be killed at any moment. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface Child {
  readonly said: Readonly<Record<string, unknown>>
  kill(): Promise<void>
}

export async function startChild(script: string, argument: object, env: object = {}): Promise<Child> {
  const path = fileURLToPath(new URL(script, import.meta.url))
  const child = spawn(process.execPath, [path, JSON.stringify(argument)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  const killAtExit = () => void child.kill('SIGKILL')
  process.once('exit', killAtExit)
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdout! }), 'line'),
    once(child, 'exit').then(() => Promise.reject(new Error(`${script} ended before it was ready`))),
  ])
  return {
    said: JSON.parse(line),
    async kill() {
      process.off('exit', killAtExit)
      await killed(child)
    },
  }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
