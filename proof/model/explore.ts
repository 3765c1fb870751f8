/** Walks every interleaving of a case in breadth: the first trace to each end, and to each broken rule, is a shortest one. */
import { FIRST, stepsOfCall } from './effects.js'
import { checkCharges, checkPromises } from './money-rules.js'
import { stepsAround, stepsOfChain, stepsOfTime } from './outside.js'
import { PackedStates } from './packed-states.js'
import { type Step, Steps } from './steps.js'
import { ruleBrokenBy } from './store-moves.js'
import { type Case, Moment, World } from './world.js'

export interface Explored {
  readonly states: number
  readonly transitions: number
  /** The length of the longest shortest trace. */
  readonly depth: number
  /** Whether all states were reached. */
  readonly isComplete: boolean
  /** The shortest trace to each broken rule. */
  readonly violations: ReadonlyMap<string, readonly Step[]>
}

export interface ExploreOptions {
  readonly statesMax?: number
  /** Stops at the first broken rule. */
  readonly isFirstEnough?: boolean
  /** Looks for no longer traces than this. */
  readonly depthMax?: number | undefined
  /** Hears each moment in which nobody is at work any more, with how it was reached. */
  readonly onQuiet?: (moment: Moment, trace: () => readonly Step[]) => void
  /** Hears each step, and the trace that it ends. */
  readonly onStep?: (step: Step, trace: () => readonly Step[]) => void
}

export function explore(plan: Case, options: ExploreOptions = {}): Explored {
  const { statesMax = Number.POSITIVE_INFINITY, isFirstEnough = false, onQuiet, onStep, depthMax } = options
  const world = new World(plan)
  const states = new PackedStates(world.width)
  states.add(world.start(FIRST).row, -1, 0)
  const violations = new Map<string, readonly Step[]>()
  const note = (rule: string | undefined, trace: () => readonly Step[]) => {
    if (rule !== undefined && !violations.has(rule)) violations.set(rule, trace())
    return rule !== undefined
  }
  let transitions = 0
  let depth = 0
  let levelEnds = 1
  let state = 0
  for (; state < states.count && states.count < statesMax; state++) {
    if (isFirstEnough && violations.size > 0) break
    if (state === levelEnds) {
      levelEnds = states.count
      if (++depth === depthMax) break
    }
    const moment = new Moment(world, states.row(state).slice())
    const trace = () => traceTo(world, states, state)
    if (isQuiet(moment)) {
      if (
        note(
          ruleBrokenBy(() => checkPromises(moment)),
          trace,
        )
      )
        continue
      onQuiet?.(moment, trace)
    }
    for (const [at, step] of stepsFrom(moment).entries()) {
      transitions++
      const rule = step.breaks ?? ruleBrokenBy(() => checkCharges(step.after))
      const toHere = () => [...trace(), step]
      if (note(rule, toHere)) continue
      onStep?.(step, toHere)
      states.add(step.after.row, state, at)
    }
  }
  return { states: states.count, transitions, depth, isComplete: state === states.count, violations }
}

function stepsFrom(moment: Moment): readonly Step[] {
  const steps = new Steps(moment)
  stepsOfTime(steps)
  stepsOfChain(steps)
  for (const index of moment.world.plan.calls.keys()) {
    if (!mayBegin(moment, index)) continue
    stepsOfCall(steps, index)
    stepsAround(steps, index, FIRST)
  }
  return steps.found
}

/** Calls that are alike begin in their order: which of them is the first changes names alone. */
function mayBegin(moment: Moment, index: number): boolean {
  const { calls } = moment.world.plan
  if (index === 0 || moment.call(index).at !== FIRST) return true
  const isAlike = JSON.stringify(calls[index]) === JSON.stringify(calls[index - 1])
  return !isAlike || moment.call(index - 1).at !== FIRST
}

function isQuiet(moment: Moment): boolean {
  return moment.world.plan.calls.every((_, index) => {
    const { at, pending, late } = moment.call(index)
    return (at === 'ended' || at === 'inDoubt') && !pending && !late
  })
}

function traceTo(world: World, states: PackedStates, state: number): readonly Step[] {
  const parent = states.parentOf(state)
  if (parent < 0) return []
  const from = new Moment(world, states.row(parent).slice())
  return [...traceTo(world, states, parent), stepsFrom(from)[states.stepTo(state)]!]
}
