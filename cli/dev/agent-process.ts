/** Runs the agent in its own process. Sends it no more stop signals than the developer asks for. */
import { spawn } from 'node:child_process'
import { isRecord } from '../../src/domain/x402.js'
import type { Report } from './announce.js'
import type { EntryPoint } from './entry-point.js'

export interface AgentProcess {
  /** The process's exit code; `null` where a signal ended it. */
  readonly ended: Promise<number | null>
  /** Asks the process to end. If it does not end within its own shutdown time and a margin, kills it. */
  stop(signal: NodeJS.Signals): Promise<void>
  signal(signal: NodeJS.Signals): void
}

/** `serve` lets running calls finish for 30 s, and then cuts them. A restart must not cut a payment. */
const PATIENCE_MS = 35_000
const ANNOUNCE = new URL('./announce.js', import.meta.url).href

export function startAgent(
  { path, nodeFlags }: EntryPoint,
  env: NodeJS.ProcessEnv,
  onReport: (report: Report) => void,
): AgentProcess {
  const child = spawn(process.execPath, [...nodeFlags, '--import', ANNOUNCE, path], {
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // A terminal sends Ctrl-C to its whole foreground group. In a separate group the agent receives one signal, from
    // this process. To the agent, a second signal means "stop at once".
    detached: true,
  })
  child.on('message', message => {
    if (isReport(message)) onReport(message)
  })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('exit', code => resolve(code))
  })
  return {
    ended,
    signal: signal => void child.kill(signal),
    async stop(signal) {
      child.kill(signal)
      const patience = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
      await ended
      clearTimeout(patience)
    },
  }
}

/** The agent's own code may send messages, too. */
function isReport(message: unknown): message is Report {
  return isRecord(message) && KINDS.some(kind => kind in message)
}

const KINDS = ['svcDevPort', 'svcDevCall', 'svcDevFailure']
