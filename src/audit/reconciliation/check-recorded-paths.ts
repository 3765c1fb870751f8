/** Checks the paths of a journal against the machine. xstate itself walks each distinct path once, not our table. */
import { createActor } from 'xstate'
import {
  type Charged,
  type ChargeFinal,
  chargeMachine,
  OUTCOMES,
} from '../../domain/machines/charge.machine.js'
import type { EndedCall } from '../../ports/call-observer.js'

/** The machine has a few hundred paths. A journal with more than this is forged: further paths are checked but not kept. */
const KEPT_MAX = 10_000

export function legalPaths() {
  const known = new Map<string, string | undefined>()
  return {
    /** Why a run's path is impossible; `undefined` where it is possible. */
    objection(run: EndedCall): string | undefined {
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
