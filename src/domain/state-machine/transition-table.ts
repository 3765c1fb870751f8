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
    // xstate re-enters a state only where a move says so. Otherwise it would not run the state's effect a second
    // time.
    if (Object.values(row.on).includes(state)) refuse('leads back to itself')
  })
}

/** The table of a record's life. A store moves the record, so no state has an effect. */
export function lifecycleOf<D extends Drawing>(machine: DrawnMachine<D>): Table<D> {
  return read(machine, (row, refuse) => {
    if (row.effect !== null) refuse('has an effect, which a lifecycle cannot run')
  })
}

/**
 * The state to which an event leads.
 *
 * @throws Error where the state does not list the event: a bug, never a caller's mistake.
 */
export function next<D extends Drawing>(table: Table<D>, state: StateOf<D>, event: string): StateOf<D> {
  const target = table.rows[state].on[event]
  if (target === undefined)
    throw new Error(`machine ${table.id}: state ${state} does not list the event ${event}`)
  return target
}

/** The fields of xstate's normalised nodes that this file reads. */
interface Node {
  readonly key: string
  readonly type: string
  readonly config: Readonly<Record<string, unknown>>
  readonly entry: readonly unknown[]
  readonly exit: readonly unknown[]
  readonly always?: readonly unknown[]
  readonly invoke: readonly unknown[]
  readonly after: readonly unknown[]
  readonly states: Readonly<Record<string, Node>>
  readonly transitions: ReadonlyMap<string, readonly Move[]>
  readonly tags: readonly string[]
  readonly meta?: Readonly<Record<string, unknown>>
  readonly initial?: { readonly target?: readonly Node[]; readonly actions: readonly unknown[] }
}

interface Move {
  readonly target?: readonly Node[]
  readonly actions: readonly unknown[]
  readonly guard?: unknown
  readonly reenter: boolean
}

type Check = (row: Row, refuse: Refuse, state: string) => void

function read<D extends Drawing>(machine: DrawnMachine<D>, check: Check): Table<D> {
  const root = machine.root as unknown as Node
  const refuseAt = (where: string) => (why: string) => {
    throw new Error(`machine ${machine.id} cannot be run from a table: ${where} ${why}`)
  }
  readRoot(root, refuseAt('the root'))
  const rows: Record<string, Row> = Object.create(null)
  for (const node of Object.values(root.states)) {
    const refuse = refuseAt(`state ${node.key}`)
    const row = Object.freeze(readState(node, refuse))
    check(row, refuse, node.key)
    rows[node.key] = row
  }
  const initial = root.initial?.target?.[0]?.key
  if (initial === undefined) return refuseAt('the root')('has no initial state')
  return Object.freeze({
    id: machine.id,
    initial,
    rows: Object.freeze(rows),
    stepsMax: Object.keys(rows).length,
  }) as Table<D>
}

type Refuse = (why: string) => never

function readRoot(root: Node, refuse: Refuse): void {
  if (root.type !== 'compound') refuse(`is ${root.type}, not a flat set of states`)
  if (root.transitions.size > 0 || root.always?.length) refuse('has moves of its own')
  if (root.entry.length > 0 || root.exit.length > 0) refuse('has actions')
  if (root.invoke.length > 0 || root.after.length > 0) refuse('invokes or delays')
  if (root.initial?.actions.length) refuse('has actions on its initial move')
  if (root.config.context !== undefined) refuse('has a context')
  if (root.config.output !== undefined) refuse('has an output')
}

function readState(node: Node, refuse: Refuse): Row {
  if (node.type !== 'atomic' && node.type !== 'final') refuse(`is ${node.type}: states are flat`)
  if (node.always?.length) refuse('has an eventless move (always)')
  if (node.after.length > 0 || node.invoke.length > 0) refuse('has a delay or an invocation')
  if (node.exit.length > 0) refuse('has an exit action')
  if (node.entry.length > 1) refuse('has more than one effect')
  const effect = node.entry[0] ?? null
  if (effect !== null && typeof effect !== 'string') refuse('has an effect that is not a plain name')
  const final = node.type === 'final'
  if (final && node.transitions.size > 0) refuse('is final and has moves')
  if (node.config.output !== undefined) refuse('has an output')
  return {
    effect: effect as string | null,
    final,
    on: Object.freeze(readMoves(node, refuse)),
    meta: Object.freeze({ ...node.meta }),
    tags: Object.freeze([...node.tags]),
  }
}

function readMoves(node: Node, refuse: Refuse): Record<string, string> {
  const on: Record<string, string> = Object.create(null)
  for (const [event, moves] of node.transitions) {
    if (event.includes('*')) refuse('answers a wildcard')
    if (event.startsWith('xstate.')) refuse(`answers ${event}, which only xstate raises`)
    const [move, ...others] = moves
    if (move === undefined || others.length > 0) return refuse(`has several moves for ${event}`)
    if (move.guard !== undefined) refuse(`guards ${event}`)
    if (move.actions.length > 0) refuse(`acts on ${event}`)
    if (move.reenter) refuse(`re-enters on ${event}`)
    const [target, ...more] = move.target ?? []
    if (target === undefined || more.length > 0) return refuse(`has no single target for ${event}`)
    on[event] = target.key
  }
  return on
}
