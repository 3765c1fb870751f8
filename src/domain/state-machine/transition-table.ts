/**
 * Reads a drawn machine into the frozen table that the program runs on. Refuses every drawing that it cannot
 * represent exactly: if the process runs, the table is the machine.
 *
 * Why xstate does not run it: `npm run bench` (row "one paid walk") measures xstate's own `transition()` and a live
 * actor at two to three orders of magnitude above a table look-up, and a walk does ten look-ups per request. A test
 * proves that both are equal for every state and event. One difference is intended: xstate stays in its state on an
 * event that the state does not list, while `next` throws, because such an event is a bug here.
 */
import { type AnyStateMachine, createMachine } from 'xstate'

/** The content that a drawing may have: flat states, plain moves, and one named effect for each state. */
export interface Drawing {
  /** Its name. */
  readonly id: string
  /** The thing whose life it describes. */
  readonly description?: string
  /** The initial state. */
  readonly initial: string
  /** The states by name. */
  readonly states: Readonly<Record<string, DrawnState>>
}

/** One state of a drawing: its effect, and the target of each event. */
export interface DrawnState {
  /** A description for people. */
  readonly description?: string
  /** No event leads out of a final state. */
  readonly type?: 'final'
  /** The effect that runs in this state. */
  readonly entry?: string
  /** Each event, and the state that it leads to. */
  readonly on?: Readonly<Record<string, string>>
  /** `durable`: a crash must not lose this state. */
  readonly tags?: string
  /** What a final state means. */
  readonly meta?: Readonly<Record<string, unknown>>
}

export type StateOf<D extends Drawing> = keyof D['states'] & string

export type FinalOf<D extends Drawing> = {
  [S in StateOf<D>]: D['states'][S] extends { type: 'final' } ? S : never
}[StateOf<D>]

/** Maps an effect's name to the events that its state lists: an effect that returns any other event does not compile. */
export type AnswersOf<D extends Drawing> = {
  [S in StateOf<D> as D['states'][S] extends { entry: infer E extends string } ? E : never]: EventOf<D, S>
}

export type EventOf<D extends Drawing, S extends StateOf<D>> = D['states'][S] extends { on: infer On }
  ? keyof On & string
  : never

export interface Row<D extends Drawing = Drawing> {
  /** The effect to run in this state; `null` in a final state, and in every state of a lifecycle. */
  readonly effect: string | null
  readonly final: boolean
  readonly on: Readonly<Record<string, StateOf<D>>>
  readonly meta: Readonly<Record<string, unknown>>
  readonly tags: readonly string[]
}

export interface Table<D extends Drawing = Drawing> {
  readonly id: string
  readonly initial: StateOf<D>
  readonly rows: Readonly<Record<StateOf<D>, Row<D>>>
  /** More steps than this mean a loop that the drawing does not show. */
  readonly stepsMax: number
}

/** An xstate machine with its drawing's type. Stately can draw it, and xstate's actors can run it. */
export type DrawnMachine<D extends Drawing> = AnyStateMachine & {
  /** Never set: it only carries the type. */
  readonly __drawing?: D
}

/** The xstate machine of a drawing, as Stately, its actors and the tests use it. */
export function machineOf<const D extends Drawing>(drawing: D): DrawnMachine<D> {
  return createMachine(drawing as never) as unknown as DrawnMachine<D>
}

/** The table of a machine that `run` walks: every state is final or has exactly one effect. */
export function tableOf<D extends Drawing>(machine: DrawnMachine<D>): Table<D> {
  return read(machine, (row, refuse, state) => {
    if (row.final && row.effect !== null) refuse('is final and has an effect')
    if (!row.final && row.effect === null) refuse('is not final and has no effect')
    // xstate re-enters a state only where a move says so. Else it would not run the state's effect a second time.
    if (Object.values(row.on).includes(state)) refuse('leads back to itself')
  })
}

/** The table of a record's life. A store moves the record, so no state has an effect. */
export function lifecycleOf<D extends Drawing>(machine: DrawnMachine<D>): Table<D> {
  return read(machine, (row, refuse) => {
    if (row.effect !== null) refuse('has an effect, which a lifecycle cannot run')
  })
}

/** The state to which an event leads. @throws Error where the state does not list the event: a bug, never a caller's mistake. */
export function next<D extends Drawing>(table: Table<D>, state: StateOf<D>, event: string): StateOf<D> {
  const target = table.rows[state].on[event]
  if (target === undefined)
    throw new Error(`machine ${table.id}: state ${state} does not list the event ${event}`)
  return target
}

/** All that a table can show. Whatever else xstate knows would be lost: a guard, a delay, an action on a move, a nested state. */
const OF_THE_ROOT = ['id', 'description', 'initial', 'states'] satisfies (keyof Drawing)[]
const OF_A_STATE = ['description', 'type', 'entry', 'on', 'tags', 'meta'] satisfies (keyof DrawnState)[]

type Check = (row: Row, refuse: Refuse, state: string) => void
type Refuse = (why: string) => never
type Drawn = Readonly<Record<string, unknown>>

function read<D extends Drawing>(machine: DrawnMachine<D>, check: Check): Table<D> {
  const refuseAt = (where: string) => (why: string) => {
    throw new Error(`machine ${machine.id} cannot be run from a table: ${where} ${why}`)
  }
  const refuse: Refuse = refuseAt('the root')
  refuseOthers(machine.config as Drawn, OF_THE_ROOT, refuse)
  const { initial, states = {} } = machine.config as { initial?: unknown; states?: Record<string, Drawn> }
  if (typeof initial !== 'string' || !Object.hasOwn(states, initial))
    refuse('does not begin in one of its states')
  const rows: Record<string, Row> = Object.create(null)
  for (const [name, state] of Object.entries(states)) {
    const refuse = refuseAt(`state ${name}`)
    rows[name] = Object.freeze(rowOf(state, Object.keys(states), refuse))
    check(rows[name], refuse, name)
  }
  const stepsMax = Object.keys(rows).length
  return Object.freeze({ id: machine.id, initial, rows: Object.freeze(rows), stepsMax }) as Table<D>
}

function refuseOthers(drawn: Drawn, known: readonly string[], refuse: Refuse): void {
  const other = Object.keys(drawn).find(key => drawn[key] !== undefined && !known.includes(key))
  if (other !== undefined) refuse(`has ${other}`)
}

function rowOf(drawn: Drawn, states: readonly string[], refuse: Refuse): Row {
  refuseOthers(drawn, OF_A_STATE, refuse)
  const { type, entry = [], on = {}, tags = [], meta } = drawn as { [Key in keyof DrawnState]?: unknown }
  if (type !== undefined && type !== 'final') refuse(`is ${type}: states are flat`)
  const [effect = null, ...more] = [entry].flat()
  if (more.length > 0) refuse('has more than one effect')
  if (effect !== null && typeof effect !== 'string') refuse('has an effect that is not a plain name')
  const moves = Object.entries(on as Drawn)
  for (const [event, to] of moves) {
    if (/\*|^xstate\./.test(event)) refuse(`answers ${event}, which is more than one event, or xstate's own`)
    if (!states.includes(to as string)) refuse(`has no single target for ${event}`)
  }
  const final = type === 'final'
  if (final && moves.length > 0) refuse('is final and has moves')
  return {
    effect,
    final,
    on: Object.freeze(Object.assign(Object.create(null), on)),
    meta: Object.freeze({ ...(meta as object) }),
    tags: Object.freeze([tags as string[]].flat()),
  }
}
