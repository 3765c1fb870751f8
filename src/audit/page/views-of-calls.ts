/** Runs as the page has them: of calls that end now, and of those that a journal has from before the process began. */
import type { Table } from '../../domain/state-machine/transition-table.js'
import type { EndedCall } from '../../ports/call-observer.js'
import type { JournalPiece } from '../journal/journal-reader.js'
import { toMicroseconds } from '../journal/line-format.js'
import { keptOf, type RunView } from './page-events.js'

export function stepsOf({ rows }: Pick<Table, 'rows'>): readonly string[] {
  return Object.entries(rows).flatMap(([state, { on }]) => Object.keys(on).map(event => `${state}.${event}`))
}

export interface Earlier {
  readonly machine: Pick<Table, 'rows'>
  readonly places: ReadonlyMap<string, number>
  /** When the process began: later lines are its own. */
  readonly beforeMs: number
  readonly capacity: number
  books(run: EndedCall): boolean
}

/** Another version of this program may have written them: a run that this machine cannot have walked is left out. Oldest first. */
export async function earlierRuns(
  pieces: AsyncIterable<Pick<JournalPiece, 'runs' | 'streams'> & { readonly isLatest?: boolean }>,
  { machine, places, beforeMs, capacity, books }: Earlier,
): Promise<readonly RunView[]> {
  const landed = new Set<string>()
  let views: RunView[] = []
  for await (const { runs, streams, isLatest } of pieces) {
    for (const run of runs) {
      const isOurs = machine.rows[run.final]?.final && run.path.every(step => places.has(step))
      if (!isOurs || !Array.isArray(run.timingsMs) || run.startedMs >= beforeMs) continue
      if (run.txId !== undefined && (run.charged === 'yes' || run.charged === 'earlier')) landed.add(run.txId)
      const isBooked = books(run)
      if (isLatest !== false) views.push(viewOf(run, places, -1, isBooked))
    }
    if (isLatest === false) continue
    const broken = new Map(streams.map(({ stream, brokenBy }) => [stream, brokenBy]))
    views = keptOf(views, capacity).map(view => {
      const brokenBy = broken.get(view.id)
      return brokenBy === undefined ? view : { ...view, streamBroken: true, brokenBy }
    })
  }
  return views.map((view, at) => ({
    ...view,
    number: at - views.length,
    ...(view.charged === 'maybe' && landed.has(view.txId ?? '') && { landed: true }),
  }))
}

/** Lists each field, so that a later field of an ended call is not on the page before it is added here. */
export function viewOf(
  call: EndedCall,
  places: ReadonlyMap<string, number>,
  number: number,
  isBooked: boolean,
): RunView {
  const { id, traceId, endpoint, final, status, code, charged, startedMs, ms, path, timingsMs } = call
  const { txId, amount, asset, window, units, windowEndsMs, mismatch, streamBroken, brokenBy, error, logs } =
    call
  return {
    ...{ number, id, traceId, endpoint, final, status, code, charged, startedMs, ms },
    path: path.map(step => places.get(step)!),
    timingsMs: timingsMs.map(toMicroseconds),
    ...{ txId, amount, asset, window, units, windowEndsMs, mismatch, streamBroken, brokenBy },
    ...(isBooked && { isBooked, payer: call.payer }),
    ...{ error, logs },
  }
}
