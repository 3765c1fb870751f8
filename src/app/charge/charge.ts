/** The driving port: it walks the machine for one request, closes what the call held, and says how it ended. */
import { chargeTable } from '../../domain/machines/charge.machine.js'
import { run } from '../../domain/run.js'
import type { Charge } from '../../ports/charge.js'
import type { Logger } from '../../ports/logger.js'
import type { EndedCall, Witness } from '../../ports/witness.js'
import { type Call, newCall } from './call.js'
import { closeCall } from './close.js'
import type { ChargeDeps, InFlight } from './deps.js'
import { chargeEffects } from './effects/index.js'
import { endedCall, outcomeOf, takenOver } from './outcome.js'

export function createCharge(deps: ChargeDeps, witnesses: readonly Witness[], inFlight: InFlight): Charge {
  const effects = chargeEffects(deps)
  const onBroke = ({ traceId }: Call, cause: unknown, state: string) =>
    deps.logger.error({ err: cause, state, traceId }, 'an effect broke')
  return {
    async call(name, request) {
      const endpoint = deps.endpoints.get(name)
      if (endpoint === undefined) throw new Error(`no endpoint is named ${name}`)
      inFlight.enter()
      try {
        const call = newCall(deps, endpoint, request)
        const walked = await run(chargeTable, effects, call, onBroke, deps.clock.monotonic)
        const closed = closeCall(deps, call, walked.final, inFlight)
        const isTakenOver = closed !== undefined && (await closed) === 'superseded'
        const outcome = (isTakenOver ? takenOver : outcomeOf)(deps, call, walked)
        tell(witnesses, endedCall(deps, call, outcome, walked), deps.logger)
        return outcome
      } finally {
        inFlight.leave()
      }
    },
  }
}

function tell(witnesses: readonly Witness[], call: EndedCall, logger: Logger): void {
  for (const witness of witnesses) {
    try {
      witness.ended(call)
    } catch (cause) {
      logger.error({ err: cause }, 'a witness threw')
    }
  }
}
