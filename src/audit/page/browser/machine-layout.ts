/**
 * The layout of the machine for a screen: its states one below the other in the order in which calls pass them, and beside
 * each state its exits. Its lengths are the screen's pixels: a drawing is laid out anew for another width, never scaled, so
 * its text keeps its size.
 */
import type { Row } from '../../../domain/state-machine/transition-table.js'
import type { Hello } from '../page-events.js'

type Machine = Hello['machine']

export interface Space {
  readonly width: number
  /** Whether a move, `state.event`, is drawn. The others are counted at their state. */
  isShown(step: string): boolean
}

export interface Lanes {
  readonly height: number
  readonly states: readonly PlacedState[]
  readonly exits: readonly PlacedExit[]
  readonly links: readonly PlacedLink[]
  /** For each state with exits that are folded away: how many. */
  readonly folds: readonly { readonly count: number; readonly x: number; readonly y: number }[]
}

export interface PlacedState {
  readonly name: string
  readonly effect: string
  readonly x: number
  readonly y: number
}

/** A move to a final state, with a copy of that state of its own. */
export interface PlacedExit {
  readonly step: string
  readonly event: string
  readonly to: string
  readonly x: number
  readonly y: number
  readonly line: string
}

/** All moves from one state to another that is not final: one line. */
export interface PlacedLink {
  readonly steps: readonly { readonly step: string; readonly event: string; readonly y: number }[]
  readonly x: number
  readonly line: string
  readonly tip: { readonly x: number; readonly y: number }
}

export const BOX = { width: 148, height: 46 } as const
export const EXIT = { width: 146, height: 68, pillTop: 24, pillHeight: 24 } as const
/** The widest line between two states. */
export const FLOW_WIDTH_MAX = 12
const MARGIN = 10
const TEXT_LINE = 16
/** Room for a line that branches off, and its name. */
const BRANCH = 26
/** The distance from a state's upper edge to its line to the exits. */
const BUS = 5
/** From a state's left edge to the lines that leave it. */
const SPINE = 16
/** Below this width, exits are below their states instead of beside them. */
const BESIDE_WIDTH_MIN = 560

export function lanesOf(machine: Machine, space: Space): Lanes {
  const order = inOrder(machine)
  const links = linksOf(machine, order)
  const beside = space.width >= BESIDE_WIDTH_MIN
  const indent = beside ? 164 : 26
  const states: PlacedState[] = []
  const exits: PlacedExit[] = []
  const folds: { count: number; x: number; y: number }[] = []
  let y = MARGIN
  const gaps: number[] = []
  const passingOf: number[] = []
  for (const [lane, name] of order.entries()) {
    const row = machine.rows[name]!
    const passing = links.filter(({ from, to }) => from < lane && lane < to).length
    // A branch that passes other states has its names just above its end: below the last of them.
    const branches = links.filter(
      ({ from, to }) => to === lane && from < lane - 1 && passing > passingOf[from]!,
    )
    y += Math.max(0, ...branches.map(({ steps }) => steps.length)) * TEXT_LINE
    passingOf.push(passing)
    const state = { name, effect: row.effect ?? '', x: MARGIN + passing * indent, y }
    states.push(state)
    const { placed, fold } = exitsOf(state, row, machine, space, beside)
    exits.push(...placed)
    if (fold) folds.push(fold)
    const lowest = Math.max(
      y + BOX.height,
      ...placed.map(exit => exit.y + EXIT.height),
      fold && !beside ? fold.y + TEXT_LINE : 0,
    )
    const besides = beside ? y + BOX.height : lowest
    gaps.push(besides)
    const leaving = links.filter(({ from }) => from === lane)
    const lines = Math.max(0, ...leaving.map(({ steps }) => steps.length)) * TEXT_LINE
    const branch = leaving.length > 1 ? BRANCH : 0
    y = Math.max(lowest + 6 + branch, besides + lines + 12 + branch)
  }
  return {
    height: Math.ceil(y),
    states,
    exits,
    folds,
    links: links.map(link => placedLink(link, states, gaps)),
  }
}

/** Sorts states by the longest path from the initial state; of equals, those without a next state come first. */
function inOrder({ initial, rows }: Machine): string[] {
  const depths = new Map<string, number>()
  const visit = (state: string, depth: number): void => {
    if (rows[state]!.final || depth <= (depths.get(state) ?? -1)) return
    depths.set(state, depth)
    for (const to of Object.values(rows[state]!.on)) visit(to, depth + 1)
  }
  visit(initial, 0)
  const goesOn = (state: string) => Object.values(rows[state]!.on).some(to => !rows[to]!.final)
  return [...depths.keys()].sort(
    (a, b) => depths.get(a)! - depths.get(b)! || Number(goesOn(a)) - Number(goesOn(b)),
  )
}

interface Link {
  readonly from: number
  readonly to: number
  readonly steps: readonly { readonly step: string; readonly event: string }[]
}

function linksOf({ rows }: Machine, order: readonly string[]): Link[] {
  return order.flatMap((state, from) => {
    const moves = Object.entries(rows[state]!.on)
    return order.flatMap((target, to) => {
      const steps = moves
        .filter(([, into]) => into === target)
        .map(([event]) => ({ step: `${state}.${event}`, event }))
      return steps.length === 0 ? [] : [{ from, to, steps }]
    })
  })
}

function exitsOf(
  state: PlacedState,
  row: Row,
  { rows }: Machine,
  { width, isShown }: Space,
  beside: boolean,
) {
  const left = beside ? state.x + BOX.width + 20 : state.x + 32
  const top = beside ? state.y : state.y + BOX.height + 2
  const perRow = Math.max(1, Math.floor((width - left - 4) / EXIT.width))
  const all = Object.entries(row.on).filter(([, to]) => rows[to]!.final)
  const moves = all.filter(([event]) => isShown(`${state.name}.${event}`))
  const placed = moves.map(([event, to], at) => {
    const x = left + (at % perRow) * EXIT.width
    const y = top + Math.floor(at / perRow) * EXIT.height
    const start = beside
      ? `M${state.x + BOX.width},${state.y + BUS}`
      : `M${state.x + SPINE + 14},${state.y + BOX.height}V${y + BUS}`
    const line = `${start}H${x + 4}Q${x + 12},${y + BUS} ${x + 12},${y + BUS + 7}V${y + EXIT.pillTop - 6}`
    return { step: `${state.name}.${event}`, event, to, x, y, line }
  })
  const count = all.length - moves.length
  const last = placed.at(-1)
  const isRowFull = placed.length > 0 && placed.length % perRow === 0
  const x = last === undefined || isRowFull ? left : last.x + EXIT.width
  const y = last === undefined ? top : isRowFull ? last.y + EXIT.height : last.y
  // In a row of exits it is at the height of their ends, else at the height of the state's name.
  const fold = { count, x: x + 4, y: y + (last === undefined || isRowFull ? 18 : EXIT.pillTop + 16) }
  return { placed, fold: count > 0 ? fold : undefined }
}

function placedLink(link: Link, states: readonly PlacedState[], gaps: readonly number[]): PlacedLink {
  const [from, to] = [states[link.from]!, states[link.to]!]
  const top = from.y + BOX.height
  const tip = { x: 0, y: to.y - 1 }
  // A branch has its name at its end: at its beginning is the name of the line that goes straight on.
  const text = to.x > from.x ? to.y - 8 - (link.steps.length - 1) * TEXT_LINE : gaps[link.from]! + TEXT_LINE
  const steps = link.steps.map((step, at) => ({ ...step, y: text + at * TEXT_LINE }))
  if (from.x === to.x) {
    const x = from.x + SPINE
    return { steps, x: x + 12, line: `M${x},${top}V${tip.y - 6}`, tip: { ...tip, x } }
  }
  // To the right it leaves the line that goes straight on; back it turns just above its target.
  const into = to.x > from.x
  const x1 = from.x + SPINE
  const x2 = into ? to.x + SPINE : Math.min(x1, to.x + 96)
  const turn = into ? gaps[link.from]! + BRANCH - 4 : tip.y - 14
  const side = Math.sign(x2 - x1) * 6
  const line = `M${x1},${top}V${turn - 6}Q${x1},${turn} ${x1 + side},${turn}H${x2 - side}Q${x2},${turn} ${x2},${turn + 6}V${tip.y - 6}`
  return { steps, x: (into ? x2 : x1) + 12, line, tip: { ...tip, x: x2 } }
}
