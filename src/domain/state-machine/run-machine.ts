/** The only loop: it walks a drawn machine from its initial state to a final one, with one effect for each state. */
import {
  type AnswersOf,
  type Drawing,
  type FinalOf,
  next,
  type StateOf,
  type Table,
} from './transition-table.js'

/** The event of an effect that threw. Effects never return it themselves. */
export const BROKE = 'broke'

export type Effects<D extends Drawing, Call> = {
  readonly [E in keyof AnswersOf<D>]: (
    call: Call,
  ) => Exclude<AnswersOf<D>[E], typeof BROKE> | Promise<Exclude<AnswersOf<D>[E], typeof BROKE>>
}

/** Each step as `state.event`, and the final state: enough to replay the walk through the drawn machine. */
export type Path = readonly string[]

export interface Walked<D extends Drawing> {
  readonly final: FinalOf<D>
  readonly path: Path
  /** How long each step of the path took, in milliseconds with fractions. */
  readonly timingsMs: readonly number[]
}

/**
 * @param onBroke receives the error that an effect threw, before the walk continues along the state's `broke` edge.
 * @param nowMs is a clock that is never set back.
 * @throws the error of an effect whose state has no such edge, and Error after more steps than the table has states.
 */
export async function run<D extends Drawing, Call>(
  table: Table<D>,
  effects: Effects<D, Call>,
  call: Call,
  onBroke: (call: Call, cause: unknown, state: string) => void,
  nowMs: () => number,
): Promise<Walked<D>> {
  const byName = effects as unknown as Readonly<Record<string, (call: Call) => string | Promise<string>>>
  const path: string[] = []
  const timingsMs: number[] = []
  let state: StateOf<D> = table.initial
  let sinceMs = nowMs()
  for (let step = 0; step <= table.stepsMax; step++) {
    const row = table.rows[state]
    if (row.effect === null) return { final: state as FinalOf<D>, path, timingsMs }
    let event: string
    try {
      const answer = byName[row.effect]!(call)
      // Do not await an answer that is ready: one microtask for each state is a tenth of an unpaid request.
      event = typeof answer === 'string' ? answer : await answer
    } catch (cause) {
      if (row.on[BROKE] === undefined) throw cause
      onBroke(call, cause, state)
      event = BROKE
    }
    const endedMs = nowMs()
    path.push(`${state}.${event}`)
    timingsMs.push(endedMs - sinceMs)
    sinceMs = endedMs
    state = next(table, state, event)
  }
  throw new Error(`machine ${table.id}: more than ${table.stepsMax} steps`)
}

/**
 * Calls `next` with the value: at once where it is there, later where it is a promise. A quote, whose steps all have their
 * values, is done in one turn of the event loop.
 */
export function mapSyncOrAsync<T, R>(value: T | Promise<T>, next: (value: T) => R): R | Promise<Awaited<R>> {
  return value instanceof Promise ? (value.then(next) as Promise<Awaited<R>>) : next(value)
}
