/** The machine as lanes, one below the other: a state that calls pass in order, and the states that some of them turn aside to. */
import type { Hello } from '../page-events.js'

type Machine = Pick<Hello['machine'], 'initial' | 'rows'>

export interface Move {
  readonly step: string
  readonly event: string
  readonly to: string
}

export type MachineLanes = ReturnType<typeof machineLanes>

export function machineLanes(machine: Machine) {
  const { rows } = machine
  const order = inOrder(machine)
  const places = new Map(order.map((state, at) => [state, at]))
  // A state is aside where a move passes it.
  const isMain = (lane: number) =>
    !order.some((state, from) =>
      Object.values(rows[state]!.on).some(to => from < lane && lane < (places.get(to) ?? -1)),
    )
  const mains = order.filter((_, lane) => isMain(lane))
  /** Its moves to final states (`exits`), to the state of the next lane (`onwards`), and all others. */
  const laneState = (name: string, next?: string) => {
    const moves = Object.entries(rows[name]!.on).map(([event, to]) => ({
      step: `${name}.${event}`,
      event,
      to,
    }))
    const [exits, others] = [true, false].map(ends => moves.filter(({ to }) => rows[to]!.final === ends))
    const [onwards, branches] = [true, false].map(is => others!.filter(({ to }) => (to === next) === is))
    return { name, exits: exits!, onwards: onwards!, branches: branches! }
  }
  return mains.map((name, at) => {
    const sides = order.slice(places.get(name)! + 1, places.get(mains[at + 1] ?? '') ?? order.length)
    return { main: laneState(name, mains[at + 1]), sides: sides.map(side => laneState(side)) }
  })
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
