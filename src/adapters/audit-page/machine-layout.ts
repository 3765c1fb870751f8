/**
 * The layout of a machine for a screen: its states one below the other in the order in which calls pass them, and beside each
 * state its exits. It is made from the table when the process starts, so the page shows the machine that runs.
 */
import type { Row, Table } from '../../domain/state-machine/transition-table.js'

export interface Form {
  /** The most exits in one row beside a state. */
  readonly exitsPerRow: number
  /** Whether the exits are beside their state, or below it. */
  readonly exits: 'beside' | 'below'
  /** How far a state moves to the right, so that the line of another state can pass. */
  readonly indent: number
}

/** For a desktop, and for a phone held upright. */
export const WIDE: Form = { exitsPerRow: 7, exits: 'beside', indent: 172 }
export const NARROW: Form = { exitsPerRow: 3, exits: 'below', indent: 24 }

export interface Lanes {
  readonly width: number
  readonly height: number
  readonly states: readonly PlacedState[]
  readonly exits: readonly PlacedExit[]
  readonly links: readonly PlacedLink[]
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

export const BOX = { width: 152, height: 42 } as const
export const EXIT = { width: 126, height: 60, pillTop: 21, pillHeight: 22 } as const
const MARGIN = 8
const TEXT_LINE = 14
/** Room for a line that branches off, and its name. */
const BRANCH = 20
/** The distance from a state's upper edge to its line to the exits. */
const BUS = 3

export function lanesOf(table: Table, form: Form): Lanes {
  const order = inOrder(table)
  const links = linksOf(table, order)
  const states: PlacedState[] = []
  const exits: PlacedExit[] = []
  let y = MARGIN
  const gaps: number[] = []
  for (const [lane, name] of order.entries()) {
    const row = table.rows[name]!
    const passing = links.filter(({ from, to }) => from < lane && lane < to).length
    const state = { name, effect: row.effect ?? '', x: MARGIN + passing * form.indent, y }
    states.push(state)
    const placed = exitsOf(state, row, table, form)
    exits.push(...placed)
    const lowest = Math.max(y + BOX.height, ...placed.map(exit => exit.y + EXIT.height))
    const besides = form.exits === 'beside' ? y + BOX.height : lowest
    gaps.push(besides)
    const leaving = links.filter(({ from }) => from === lane)
    const lines = Math.max(0, ...leaving.map(({ steps }) => steps.length)) * TEXT_LINE
    const branch = leaving.length > 1 ? BRANCH : 0
    y = Math.max(lowest + 5 + branch, besides + lines + 12 + branch - 6)
  }
  const right = Math.max(...exits.map(({ x }) => x + EXIT.width))
  return {
    width: Math.ceil(right + MARGIN),
    height: Math.ceil(y),
    states,
    exits,
    links: links.map(link => placedLink(link, states, gaps)),
  }
}

/** Sorts states by the longest path from the initial state; of equals, those without a next state come first. */
function inOrder({ initial, rows }: Table): string[] {
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

function linksOf({ rows }: Table, order: readonly string[]): Link[] {
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

function exitsOf(state: PlacedState, row: Row, table: Table, form: Form): PlacedExit[] {
  const beside = form.exits === 'beside'
  const left = beside ? state.x + BOX.width + 18 : state.x + 26
  const top = beside ? state.y : state.y + BOX.height + 2
  const moves = Object.entries(row.on).filter(([, to]) => table.rows[to]!.final)
  return moves.map(([event, to], at) => {
    const x = left + (at % form.exitsPerRow) * EXIT.width
    const y = top + Math.floor(at / form.exitsPerRow) * EXIT.height
    const start = beside
      ? `M${state.x + BOX.width - 4},${state.y + BUS}`
      : `M${state.x + 18},${state.y + BOX.height}V${y + BUS}`
    return {
      step: `${state.name}.${event}`,
      event,
      to,
      x,
      y,
      line: `${start}H${x + 4}Q${x + 10},${y + BUS} ${x + 10},${y + BUS + 6}V${y + EXIT.pillTop - 4}`,
    }
  })
}

function placedLink(link: Link, states: readonly PlacedState[], gaps: readonly number[]): PlacedLink {
  const [from, to] = [states[link.from]!, states[link.to]!]
  const top = from.y + BOX.height
  const tip = { x: 0, y: to.y - 1 }
  // A branch has its name at its end: at its beginning is the name of the line that goes straight on.
  const text = to.x > from.x ? to.y - 7 : gaps[link.from]! + TEXT_LINE
  const steps = link.steps.map((step, at) => ({ ...step, y: text + at * TEXT_LINE }))
  if (from.x === to.x) {
    const x = from.x + 12
    return { steps, x: x + 8, line: `M${x},${top}V${tip.y - 5}`, tip: { ...tip, x } }
  }
  // To the right it leaves the line that goes straight on; back it turns just above its target.
  const into = to.x > from.x
  const x1 = from.x + 12
  const x2 = into ? to.x + 12 : Math.min(x1, to.x + 96)
  const turn = into ? gaps[link.from]! + BRANCH : tip.y - 12
  const side = Math.sign(x2 - x1) * 5
  const line = `M${x1},${top}V${turn - 5}Q${x1},${turn} ${x1 + side},${turn}H${x2 - side}Q${x2},${turn} ${x2},${turn + 5}V${tip.y - 5}`
  return { steps, x: (into ? x2 : x1) + 8, line, tip: { ...tip, x: x2 } }
}
