/** The agent in a process of its own, told to end at most as often as somebody wants it to end. */
import { spawn } from 'node:child_process'
import type { Announcement } from './announce.js'
import type { Entry } from './entry.js'

export interface AgentProcess {
  /** Its exit code; `null` where a signal ended it. */
  readonly ended: Promise<number | null>
  /** Asks it to end, and ends it when it has not within its own time and some. */
  stop(signal: NodeJS.Signals): Promise<void>
  signal(signal: NodeJS.Signals): void
}

/** `serve` lets calls in flight finish for 30 s, and then cuts them: a restart must not cut a payment short. */
const PATIENCE_MS = 35_000
const ANNOUNCE = new URL('./announce.js', import.meta.url).href

export function startAgent(
  { path, nodeFlags }: Entry,
  env: NodeJS.ProcessEnv,
  onListening: (port: number) => void,
): AgentProcess {
  const child = spawn(process.execPath, [...nodeFlags, '--import', ANNOUNCE, path], {
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // A terminal sends Ctrl-C to all of its foreground group. In a group of its own the agent hears of it once, from us:
    // a second signal means "at once" to it.
    detached: true,
  })
  child.on('message', message => {
    if (isAnnouncement(message)) onListening(message.svcDevPort)
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

function isAnnouncement(message: unknown): message is Announcement {
  return typeof (message as Announcement | null)?.svcDevPort === 'number'
}
