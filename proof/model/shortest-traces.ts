/** The traces that stores are held to: of each case a shortest one to each end, and one to each answer of a move. */

import type { Step } from './steps.js'
import type { Moment, World } from './world.js'

export interface Trace {
  readonly world: World
  /** The end, or the answer, that no shorter trace leads to. */
  readonly leadsTo: string
  readonly steps: readonly Step[]
}

/** Listens to a search in breadth, so the first trace to anything is a shortest one. */
export class ShortestTraces {
  readonly #found = new Map<string, Trace>()

  readonly onQuiet = (moment: Moment, trace: () => readonly Step[]): void => {
    this.#keep(`the end ${recordsOf(moment)}`, moment.world, trace)
  }

  readonly onStep = (step: Step, trace: () => readonly Step[]): void => {
    for (const deed of step.deeds)
      if (deed.kind === 'move') {
        const { move, answered } = deed
        const leadsTo = `${answered.verdict}, said to call ${move.call}'s ${move.kind} before ${recordsOf(step.after)}`
        this.#keep(leadsTo, step.after.world, trace)
      }
  }

  get all(): readonly Trace[] {
    return [...this.#found.values()]
  }

  #keep(leadsTo: string, world: World, trace: () => readonly Step[]): void {
    if (!this.#found.has(leadsTo)) this.#found.set(leadsTo, { world, leadsTo, steps: trace() })
  }
}

/** What the store holds, and for whom. The ends of leases and of lives are left out. */
function recordsOf(moment: Moment): string {
  const claims = moment.world.names.map(name => {
    const { state, token, kept } = moment.claim('', name) ?? {}
    return [state, token, kept?.answer?.[0], kept?.payment?.txId]
  })
  const payments = moment.world.txIds.map(txId => {
    const { state, token } = moment.payment(txId) ?? {}
    return [state, token]
  })
  return JSON.stringify([...claims, ...payments])
}
