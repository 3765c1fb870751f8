/**
 * Keeps the last calls and sends them to the viewers. Each viewer has a position of its own: a slow viewer gets events later,
 * or fewer events, and delays neither the other viewers nor any call.
 */
import { recentBookings } from '../../domain/income-bookings.js'
import type { CallObserver, EndedCall } from '../../ports/call-observer.js'
import { type Cancel, type Clock, systemClock } from '../../ports/clock.js'
import type { JournalHeader } from '../../ports/journal-header.js'
import { every } from '../../ports/timeouts-and-aborts.js'
import { keptOf } from './kept-runs.js'
import type { AuditEvents, Hello, RunView } from './page-events.js'

/** The target of events. `write` returns whether more may follow at once. */
export interface Viewer {
  write(text: string): boolean
  end(): void
}

export interface Seat {
  /** Call it when more may be written again. */
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
  clock = systemClock,
  ...agent
}: FeedOptions): Feed {
  const steps = Object.entries(agent.machine.rows).flatMap(([state, { on }]) =>
    Object.keys(on).map(event => `${state}.${event}`),
  )
  const sinceMs = clock.now()
  const places = new Map(steps.map((step, at) => [step, at]))
  let kept: RunView[] = []
  const seats = new Set<{ tell(): void; end(): void }>()
  const bookings = recentBookings()
  const totals = { calls: 0, charged: 0, inDoubt: 0, takenBaseUnits: 0n }
  let told = 0
  let stopTicking: Cancel | undefined
  let closed = false

  function seatFor(viewer: Viewer) {
    let next = 0
    let mayWrite = true
    let quietTicks = 0
    const send = <E extends keyof AuditEvents>(event: E, data: AuditEvents[E]) => {
      mayWrite = viewer.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
      quietTicks = 0
    }
    let toldTotals = 0
    const greet = () => {
      next = 0
      const { id, initial, rows } = agent.machine
      const times = { nowMs: clock.now(), sinceMs }
      send('hello', { ...agent, machine: { id, initial, rows }, steps, capacity, ...times })
    }
    const tell = () => {
      // It was too slow for calls that are forgotten now. It begins anew, so that its calls have no gap.
      if (mayWrite && next > 0 && next < kept[0]!.number) greet()
      while (mayWrite && next < told) {
        const from = kept.findLastIndex(({ number }) => number < next) + 1
        const runs = kept.slice(from, from + RUNS_AT_ONCE)
        next = runs.at(-1)!.number + 1
        send('runs', runs)
      }
      if (!mayWrite) return
      if (toldTotals < told) {
        toldTotals = told
        const { takenBaseUnits, ...counted } = totals
        send('totals', { ...counted, taken: String(takenBaseUnits) })
      } else if (++quietTicks > HEARTBEAT_TICKS) {
        mayWrite = viewer.write(': still here\n\n')
        quietTicks = 0
      }
    }
    greet()
    return {
      tell,
      end: () => viewer.end(),
      drained() {
        mayWrite = true
        tell()
      },
    }
  }

  function watchEnded(): void {
    if (seats.size > 0) return
    stopTicking?.()
    stopTicking = undefined
  }

  return {
    ended(call) {
      const isBooked = bookings.books(call)
      kept.push(viewOf(call, places, told++, isBooked))
      const silenced = kept.length - 1 - MESSAGES_MAX
      const run = kept[silenced]
      if (run && (run.error ?? run.logs) !== undefined)
        kept[silenced] = { ...run, error: undefined, logs: undefined }
      kept = keptOf(kept, capacity)
      totals.calls++
      if (call.charged === 'maybe') totals.inDoubt++
      if (!isBooked) return
      totals.charged++
      totals.takenBaseUnits += BigInt(call.amount ?? 0)
    },
    join(viewer) {
      if (closed || seats.size >= VIEWERS_MAX) return undefined
      const seat = seatFor(viewer)
      seats.add(seat)
      seat.tell()
      stopTicking ??= every(clock, TICK_MS, () => {
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
      for (const { number, isBooked, payer, error, logs, path, ...run } of kept)
        yield `${JSON.stringify({ ...run, path: path.map(step => steps[step]) })}\n`
    },
    close() {
      closed = true
      for (const seat of seats) seat.end()
      seats.clear()
      watchEnded()
    },
  }
}

/** Lists each field, so that a later field of an ended call is not on the page before it is added here. */
function viewOf(
  call: EndedCall,
  places: ReadonlyMap<string, number>,
  number: number,
  isBooked: boolean,
): RunView {
  const { id, traceId, endpoint, final, status, code, charged, startedMs, ms, path, timingsMs } = call
  const { txId, amount, asset, mismatch, streamBroken, error, logs } = call
  return {
    number,
    id,
    traceId,
    endpoint,
    final,
    status,
    code,
    charged,
    startedMs,
    ms,
    path: path.map(step => places.get(step)!),
    timingsMs: timingsMs.map(toMicroseconds),
    txId,
    amount,
    asset,
    mismatch,
    streamBroken,
    ...(isBooked && { isBooked, payer: call.payer }),
    error,
    logs,
  }
}

function toMicroseconds(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}
