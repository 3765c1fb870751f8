/** `svc listen`: prints each call of a running agent as it ends. */
import { setTimeout as pause } from 'node:timers/promises'
import { eventsIn } from '../../src/app/client/index.js'
import { isRecord, SvcError } from '../../src/domain/index.js'
import { urlArgument } from '../arguments.js'
import { command } from '../define-command.js'
import { moneyTold } from '../dev/print-reports.js'
import { signalled } from '../exit.js'
import { type AgentStream, auditPageOf } from '../journals.js'
import { json, note, print, printable, styled } from '../output.js'

const AGENT = `http://127.0.0.1:${process.env.PORT || 4021}`
const AGAIN_MS = 1_000
/** As many as an agent remembers, and sends again after a pause. */
const KNOWN_MAX = 20_000

export const listenCommand = command({
  name: 'listen',
  says: 'print each call of a running agent as it ends: outcome, charge, time, payment',
  takes: [['[agent]', 'its base URL', urlArgument, AGENT]],
  flags: [
    ['--remembered', 'print first the calls that the agent remembers'],
    ['--json', 'print a line of JSON for each call'],
  ],
  help: `
The agent is served with { audit: true } and asked from its own machine, or with { audit: { token } }; svc dev does the first. The
token is read from SVC_AUDIT_TOKEN. When the agent stops, this waits until it is there again. Ctrl-C ends it.

Examples:
  $ svc listen
  $ svc listen https://agent.example --json | jq 'select(.charged == "maybe")'`,
}).does(async (agentUrl, { remembered, json: asJson }) => {
  // Not by a signal to fetch: Node forgets it when it collects the request, and the command would go on.
  void signalled().then(() => process.exit())
  let stream: AgentStream | undefined = await auditPageOf(agentUrl, 'events')
  const sinceMs = remembered ? 0 : stream.atMs
  note(`svc listen: ${printable(agentUrl)}, Ctrl-C ends it`)
  const isNew = unheard()
  for (;;) {
    if (stream) {
      try {
        for await (const { calls, missed } of callsIn(stream.body)) {
          for (const call of calls)
            if (!(endedMs(call) < sinceMs) && isNew(call)) print(asJson ? json(call) : told(call))
          if (missed > 0) note(`svc listen: ${missed} calls were not sent: this listener was too slow`)
        }
      } catch (error) {
        if (error instanceof SvcError) throw error
        // The connection broke.
      }
      note('svc listen: the agent has closed the stream; waiting for it')
    }
    stream = await again(agentUrl)
  }
})

async function again(agentUrl: string): Promise<AgentStream | undefined> {
  try {
    await pause(AGAIN_MS)
    const stream = await auditPageOf(agentUrl, 'events')
    note('svc listen: connected again')
    return stream
  } catch (error) {
    if (isAway(error)) return undefined
    throw error
  }
}

/** What an agent that restarts answers, or the proxy in front of it. A refusal would be one for ever. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504])

/** Without a status nobody answered. */
export function isAway(error: unknown): boolean {
  return !(error instanceof SvcError) || error.status === undefined || AWAY.has(error.status)
}

function unheard(): (call: Heard) => boolean {
  const known = new Set<unknown>()
  return ({ id }) => {
    if (id === undefined) return true
    if (known.has(id)) return false
    known.add(id)
    if (known.size > KNOWN_MAX) known.delete(known.values().next().value)
    return true
  }
}

function told(call: Heard): string {
  const { endpoint, status, code, charged, amount, ms, txId, error } = call
  const ended = printable(`${status} ${code}, ${moneyTold(String(charged), amount)}`)
  const payment = txId === undefined ? '' : `, payment ${txId}`
  const broken = call.streamBroken === true ? ', the stream broke' : ''
  const why = error === undefined ? '' : `\n  ${printable(error)}`
  const style = charged === 'maybe' ? 'red' : Number(status) < 400 ? 'green' : 'yellow'
  const head = printable(`${momentOf(call)}  /${endpoint}  `)
  return head + styled(style, ended) + printable(`${broken}, ${ms} ms${payment}`) + why
}

function momentOf(call: Heard): string {
  const date = new Date(endedMs(call))
  return Number.isNaN(date.getTime()) ? 'at an unknown time' : date.toISOString()
}

/** A call that has ended. The agent may be of another version, so no field is certain. */
export type Heard = Readonly<Record<string, unknown>>

export interface Part {
  readonly calls: readonly Heard[]
  /** Calls that ended and were not sent: the agent leaves out what a listener is too slow for. */
  readonly missed: number
}

export async function* callsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<Part> {
  let steps: readonly unknown[] = []
  let received = 0
  let unsent: number | undefined
  const tooLarge = () => new SvcError('The agent sent an event that is too large', 'event_too_large')
  for await (const { event, data } of eventsIn(body, tooLarge)) {
    if (event === 'hello' && isRecord(data) && Array.isArray(data.steps)) steps = data.steps
    if (event === 'runs' && Array.isArray(data)) {
      received += data.length
      yield { calls: data.filter(isRecord).map(call => withNamedSteps(call, steps)), missed: 0 }
    }
    if (event === 'totals' && isRecord(data) && typeof data.calls === 'number') {
      // What the agent had forgotten before this connection was not missed by it.
      unsent ??= data.calls - received
      const missed = data.calls - received - unsent
      received += missed
      if (missed > 0) yield { calls: [], missed }
    }
  }
}

function withNamedSteps(call: Heard, steps: readonly unknown[]): Heard {
  return Array.isArray(call.path) ? { ...call, path: call.path.map(step => steps[step] ?? step) } : call
}

export function endedMs({ startedMs, ms }: Heard): number {
  return Number(startedMs) + Number(ms)
}
