/** Holds the paths in a journal against the drawing: each distinct one is walked once by xstate itself, not by our table. */
import { createActor } from 'xstate'
import {
  type Charged,
  type ChargeFinal,
  chargeMachine,
  OUTCOMES,
} from '../../domain/machines/charge.machine.js'
import type { EndedCall } from '../../ports/call-observer.js'

export interface LegalPaths {
  /** Why a run cannot have ended as it says; `undefined` where it can. */
  objection(run: EndedCall): string | undefined
  /** How many distinct ways were taken. */
  readonly distinct: number
}

/** The machine has a few hundred ways. A journal with more distinct paths than this is made up; they are walked and not kept. */
const KEPT_MAX = 10_000

export function legalPaths(): LegalPaths {
  const known = new Map<string, string | undefined>()
  return {
    objection(run) {
      const key = `${run.path.join(' ')} ${run.final} ${run.charged}`
      if (known.has(key)) return known.get(key)
      const objection = objectionTo(run)
      if (known.size < KEPT_MAX) known.set(key, objection)
      return objection
    },
    get distinct() {
      return known.size
    },
  }
}

function objectionTo({ path, final, charged }: EndedCall): string | undefined {
  const actor = createActor(chargeMachine).start()
  for (const step of path) {
    const [state, event = ''] = String(step).split('.', 2)
    const here = actor.getSnapshot()
    if (here.value !== state) return `the path is in ${String(here.value)} and says ${state}`
    if (!here.can({ type: event })) return `${state} does not list the event ${event}`
    actor.send({ type: event })
  }
  const { value, status } = actor.getSnapshot()
  if (status !== 'done') return `the path stops in ${String(value)}`
  if (value !== final) return `the path ends in ${String(value)}, and the run says ${final}`
  const meant: Charged = OUTCOMES[value as ChargeFinal].charged
  return charged === meant ? undefined : `${final} means charged ${meant}, and the run says ${charged}`
}
