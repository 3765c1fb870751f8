/** Implements the driving port: walks the machine for one request, closes what the call held, and returns the outcome. */
import { type ChargeDrawing, chargeTable } from '../../domain/machines/charge.machine.js'
import { type Effects, run } from '../../domain/state-machine/run-machine.js'
import type { CallObserver, EndedCall } from '../../ports/call-observer.js'
import type { Charge } from '../../ports/charge.js'
import { namedBalance } from './balances.js'
import { type Call, newCall } from './call-at-work.js'
import { endedCall, outcomeOf, takenOver } from './call-outcome.js'
import type { ChargeDeps, InFlight } from './charge-deps.js'
import { closeCall, giveBack } from './close-call.js'
import { admit } from './effects/admit.js'
import { count } from './effects/count.js'
import { coverByBalance } from './effects/cover-by-balance.js'
import { credit } from './effects/credit.js'
import { deliver, serve } from './effects/deliver.js'
import { entitle } from './effects/entitle.js'
import { open } from './effects/open.js'
import { price } from './effects/price.js'
import { reconcile } from './effects/reconcile.js'
import { record } from './effects/record.js'
import { recover } from './effects/recover.js'
import { settle } from './effects/settle.js'
import { validate } from './effects/validate.js'
import { verify } from './effects/verify.js'
import { callEnded, frozen, tellObservers } from './tell-observers.js'

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
      const first = deps.endpoints.get(name)
      if (first === undefined) throw new Error(`no endpoint is named ${name}`)
      // A2A and MCP name no method: theirs is the first.
      const endpoint = (request.target && first.byMethod?.get(request.target.method)) ?? first
      inFlight.enter()
      try {
        // A quote waits for nothing.
        const reader = request.payment.kind === 'read' ? await deps.reader() : undefined
        const call = newCall(deps, endpoint, request, reader, namedBalance(deps, endpoint, request))
        const walked = await run(chargeTable, effects, call, onBroke, deps.clock.monotonic)
        const closed = closeCall(deps, call, walked.final, inFlight)
        const isTakenOver = closed !== undefined && (await closed) === 'superseded'
        const outcome = (isTakenOver ? takenOver : outcomeOf)(deps, call, walked)
        const ended = () => endedCall(deps, call, outcome, walked)
        const report = (told: EndedCall) => {
          tellObservers(callObservers, deps.logger, observer => observer.ended(frozen(told)))
          if (callEnded.hasSubscribers) callEnded.publish({ endpoint: endpoint.def, call: told })
        }
        if (call.handled.streamEnd === undefined) report(ended())
        else {
          const charged = ended()
          // What a stream on a balance costs is decided when it has ended.
          if (call.balance === undefined)
            tellObservers(callObservers, deps.logger, observer => observer.streaming?.(frozen(charged)))
          void call.handled.streamEnd.then(({ brokenBy }) =>
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

/** One for each state, by the name that the drawing gives it. */
function chargeEffects(deps: ChargeDeps): Effects<ChargeDrawing, Call> {
  return {
    admit: call => admit(deps, call),
    open: call => open(deps, call),
    recover: call => recover(deps, call),
    validate: call => validate(deps, call),
    entitle: call => (call.balance === undefined ? entitle : coverByBalance)(deps, call),
    price: call => price(deps, call),
    verify: call => verify(deps, call),
    credit: call => credit(deps, call),
    deliver: call => deliver(deps, call),
    record: call => record(deps, call),
    settle: call => settle(deps, call),
    reconcile: call => reconcile(deps, call),
    release: call => giveBack(deps, call),
    serve: call => serve(deps, call),
    count: call => count(deps, call),
  }
}
