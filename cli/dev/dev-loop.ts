/** Runs the agent, and restarts it at each change of its sources, until a signal stops the loop. */
import { startAgent } from './agent-process.js'
import type { Report } from './announce.js'
import type { EntryPoint } from './entry-point.js'
import type { Interruption } from './interruption.js'
import type { SourceChanges } from './source-changes.js'

export interface DevLoop {
  readonly entry: EntryPoint
  readonly env: NodeJS.ProcessEnv
  /** Absent: the agent runs once. */
  readonly changes?: SourceChanges
  readonly interruption: Interruption
  onReport(report: Report): void
  say(line: string): void
}

const NEVER = new Promise<never>(() => {})

/** Returns the agent's exit code; 0 where the agent ended by the signal that this loop sent. */
export async function runDevLoop(loop: DevLoop): Promise<number> {
  const { entry, env, changes, interruption, onReport, say } = loop
  const interrupted = interruption.first.then(signal => ({ signal }))
  for (;;) {
    const agent = startAgent(entry, env, onReport)
    interruption.onAgain(agent.signal)
    const changed = changes?.next().then(() => 'changed' as const) ?? NEVER
    const ended = agent.ended.then(code => ({ code }))

    const first = await Promise.race([interrupted, changed, ended])
    if (first === 'changed') {
      say(`${entry.shown}: sources changed, starting anew`)
      await agent.stop('SIGTERM')
    } else if ('signal' in first) {
      await agent.stop(first.signal)
      return (await agent.ended) ?? 0
    } else {
      if (!changes) return first.code ?? 1
      say(
        `${entry.shown} ended with ${first.code === null ? 'a signal' : `code ${first.code}`}; waiting for a change`,
      )
      await Promise.race([interrupted, changed])
    }
    if (interruption.hasCome) return 0
  }
}
