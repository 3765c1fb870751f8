/** Implements the driving port: walks the machine for one request, closes what the call held, and returns the outcome. */
import { chargeTable } from '../../domain/machines/charge.machine.js'
import { run } from '../../domain/state-machine/run-machine.js'
import type { CallObserver, EndedCall } from '../../ports/call-observer.js'
import type { Charge } from '../../ports/charge.js'
import { endedCall, outcomeOf, takenOver } from './call-outcome.js'
import { type Call, newCall } from './call-record.js'
import type { ChargeDeps, InFlight } from './charge-deps.js'
import { closeCall } from './close-call.js'
import { callEnded } from './diagnostics.js'
import { chargeEffects } from './effects/index.js'
import { tellObservers } from './tell-observers.js'

export function createCharge(
  deps: ChargeDeps,
  callObservers: readonly CallObserver[],
  inFlight: InFlight,
): Charge {
  const effects = chargeEffects(deps)
  const onBroke = ({ traceId }: Call, cause: unknown, state: string) =>
    deps.logger.error({ err: cause, state, traceId }, 'an effect broke')
  return {
    async call(name, request) {
      const endpoint = deps.endpoints.get(name)
      if (endpoint === undefined) throw new Error(`no endpoint is named ${name}`)
      inFlight.enter()
      try {
        // A quote waits for nothing.
        const reader = request.payment.kind === 'read' ? await deps.reader() : undefined
        const call = newCall(deps, endpoint, request, reader)
        const walked = await run(chargeTable, effects, call, onBroke, deps.clock.monotonic)
        const closed = closeCall(deps, call, walked.final, inFlight)
        const isTakenOver = closed !== undefined && (await closed) === 'superseded'
        const outcome = (isTakenOver ? takenOver : outcomeOf)(deps, call, walked)
        const ended = () => endedCall(deps, call, outcome, walked)
        const report = (told: EndedCall) => {
          tellObservers(callObservers, deps.logger, observer => observer.ended(told))
          if (callEnded.hasSubscribers) callEnded.publish({ endpoint: endpoint.def, call: told })
        }
        if (call.streamEnd === undefined) report(ended())
        else {
          const charged = ended()
          tellObservers(callObservers, deps.logger, observer => observer.streaming?.(charged))
          void call.streamEnd.then(({ brokenBy }) =>
            report(brokenBy ? { ...ended(), streamBroken: true, brokenBy } : ended()),
          )
        }
        return outcome
      } finally {
        inFlight.leave()
      }
    },
  }
}
