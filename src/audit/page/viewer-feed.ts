/** A slow viewer gets events later, or fewer events, and delays neither the other viewers nor any call. */
import { recentBookings } from '../../domain/income-bookings.js'
import type { CallObserver, EndedCall } from '../../ports/call-observer.js'
import { type Cancel, type Clock, every, systemClock } from '../../ports/clock.js'
import { type Logger, silentLogger } from '../../ports/logger.js'
import type { JournalPiece } from '../journal/journal-reader.js'
import type { JournalHeader } from '../journal/line-format.js'
import { type AuditEvents, type Decision, type Hello, keptOf, type RunView } from './page-events.js'
import { type Standing, sellerStanding } from './seller-standing.js'
import { earlierRuns, stepsOf, viewOf } from './views-of-calls.js'

/** The target of events. `write` returns whether more may follow at once. */
export interface Viewer {
  write(text: string): boolean
  end(): void
}

export interface Seat {
  drained(): void
  leave(): void
}

export interface Feed extends CallObserver {
  /** `undefined` where there are too many viewers already. */
  join(viewer: Viewer): Seat | undefined
  /** The kept calls, oldest first, as a journal without payers, messages and logs. */
  lines(): Iterable<string>
  close(): void
}

export interface FeedOptions extends Omit<Hello, 'capacity' | 'steps' | 'nowMs' | 'sinceMs'> {
  readonly header: JournalHeader
  readonly capacity?: number
  /** What the journal has. It is read once, for the first viewer. */
  readonly history?: () => AsyncIterable<JournalPiece>
  /** Asked while somebody watches. */
  readonly walletLacks?: () => Promise<string | undefined>
  readonly logger?: Pick<Logger, 'warn'>
  readonly clock?: Pick<Clock, 'after' | 'now'>
}

const CAPACITY = 10_000
const VIEWERS_MAX = 16
const TICK_MS = 250
const RUNS_AT_ONCE = 500
/** The runs that keep their error and what their handler logged: logs take up to 60 kB each. */
const MESSAGES_MAX = 500
/** Proxies and browsers close a connection that is silent for long. */
const HEARTBEAT_TICKS = 60

export function createFeed({
  capacity = CAPACITY,
  header,
  history,
  walletLacks = async () => undefined,
  logger = silentLogger,
  clock = systemClock,
  ...agent
}: FeedOptions): Feed {
  const steps = stepsOf(agent.machine)
  const sinceMs = clock.now()
  const places = new Map(steps.map((step, at) => [step, at]))
  let kept: RunView[] = []
  const seats = new Set<{ tell(): void; decide(decisions: readonly Decision[]): void; end(): void }>()
  /** The payments in doubt, and how many calls ended so for each. */
  const doubts = new Map<string, number>()
  const streaming = new Map<string, EndedCall>()
  const isFirstReport = recentBookings()
  const standing = sellerStanding(walletLacks, clock)
  const totals = { calls: 0, charged: 0, inDoubt: 0, takenBaseUnits: 0n }
  let told = 0
  let stopTicking: Cancel | undefined
  let closed = false

  function seatFor(viewer: Viewer) {
    let next = Number.NEGATIVE_INFINITY
    let isGreeted = false
    let mayWrite = true
    let quietTicks = 0
    const send = <E extends keyof AuditEvents>(event: E, data: AuditEvents[E]) => {
      mayWrite = viewer.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
      quietTicks = 0
    }
    let toldTotals = -1
    let toldStanding: Standing | undefined
    let untold: readonly Decision[] = []
    const greet = () => {
      isGreeted = true
      next = Number.NEGATIVE_INFINITY
      untold = []
      toldTotals = -1
      const { id, initial, rows } = agent.machine
      const times = { nowMs: clock.now(), sinceMs }
      send('hello', { ...agent, machine: { id, initial, rows }, steps, capacity, ...times })
    }
    const tell = () => {
      if (!isGreeted) return
      // It was too slow for calls that are forgotten now. It begins anew, so that its calls have no gap.
      if (mayWrite && Number.isFinite(next) && next < kept[0]!.number) greet()
      while (mayWrite && next < told && kept.length > 0) {
        const from = kept.findLastIndex(({ number }) => number < next) + 1
        const runs = kept.slice(from, from + RUNS_AT_ONCE)
        next = runs.at(-1)!.number + 1
        send('runs', runs)
      }
      if (mayWrite && untold.length > 0) {
        send('decided', untold)
        untold = []
      }
      if (!mayWrite) return
      if (toldTotals < told || toldStanding !== standing.now()) {
        toldTotals = told
        toldStanding = standing.now()
        const { takenBaseUnits, ...counted } = totals
        send('totals', { ...counted, ...toldStanding, taken: String(takenBaseUnits) })
      } else if (++quietTicks > HEARTBEAT_TICKS) {
        mayWrite = viewer.write(': still here\n\n')
        quietTicks = 0
      }
    }
    return {
      greet,
      tell,
      decide(decisions: readonly Decision[]) {
        untold = [...untold, ...decisions.filter(({ number }) => number < next)]
      },
      end: () => viewer.end(),
      drained() {
        mayWrite = true
        tell()
      },
    }
  }

  function doubt(txId: string): void {
    doubts.set(txId, (doubts.get(txId) ?? 0) + 1)
    if (doubts.size > capacity) doubts.delete(doubts.keys().next().value!)
  }

  function decided(txId: string, landed: boolean): void {
    totals.inDoubt -= doubts.get(txId) ?? 0
    if (!doubts.delete(txId)) return
    const decisions: Decision[] = []
    for (const [at, run] of kept.entries()) {
      if (run.txId !== txId || run.charged !== 'maybe') continue
      kept[at] = { ...run, landed }
      decisions.push({ number: run.number, landed })
    }
    for (const seat of seats) seat.decide(decisions)
  }

  function books(call: EndedCall): boolean {
    const isBooked = isFirstReport(call)
    standing.add(call, isBooked)
    return isBooked
  }

  let remembered: Promise<void> | undefined
  async function remember(pieces: AsyncIterable<JournalPiece>): Promise<void> {
    const about = { machine: agent.machine, places, beforeMs: sinceMs, capacity, books }
    try {
      kept = keptOf([...(await earlierRuns(pieces, about)), ...kept], capacity)
    } catch (err) {
      logger.warn({ err }, 'the audit page cannot read the journal: it has the calls of this process alone')
    }
  }

  function watchEnded(): void {
    if (seats.size > 0) return
    stopTicking?.()
    stopTicking = undefined
  }

  function lineOf({ number, isBooked, payer, error, logs, path, ...run }: RunView, more?: object): string {
    return `${JSON.stringify({ ...run, ...more, path: path.map(step => steps[step]) })}\n`
  }

  return {
    decided,
    streaming: call => void streaming.set(call.id, call),
    ended(call) {
      streaming.delete(call.id)
      const isBooked = books(call)
      kept.push(viewOf(call, places, told++, isBooked))
      const silenced = kept.length - 1 - MESSAGES_MAX
      const run = kept[silenced]
      if (run && (run.error ?? run.logs) !== undefined)
        kept[silenced] = { ...run, error: undefined, logs: undefined }
      kept = keptOf(kept, capacity)
      totals.calls++
      const { txId, charged } = call
      if (charged === 'maybe') totals.inDoubt++
      if (txId !== undefined && charged === 'maybe') doubt(txId)
      else if (txId !== undefined && charged !== 'no') decided(txId, true)
      if (!isBooked) return
      totals.charged++
      totals.takenBaseUnits += BigInt(call.amount ?? 0)
    },
    join(viewer) {
      if (closed || seats.size >= VIEWERS_MAX) return undefined
      const seat = seatFor(viewer)
      seats.add(seat)
      const begin = () => {
        if (!seats.has(seat)) return
        standing.look(true)
        seat.greet()
        seat.tell()
      }
      if (history) {
        remembered ??= remember(history())
        void remembered.then(begin)
      } else begin()
      stopTicking ??= every(clock, TICK_MS, () => {
        standing.look()
        for (const each of seats) each.tell()
      })
      return {
        drained: seat.drained,
        leave() {
          seats.delete(seat)
          watchEnded()
        },
      }
    },
    *lines() {
      yield `${JSON.stringify(header)}\n`
      for (const run of kept) if (run.number >= 0) yield lineOf(run)
      for (const call of streaming.values())
        yield lineOf(viewOf(call, places, told, false), { streaming: true })
    },
    close() {
      closed = true
      for (const seat of seats) seat.end()
      seats.clear()
      watchEnded()
    },
  }
}
