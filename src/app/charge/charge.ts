/** The driving port: it walks the machine for one request, closes what the call held, and says how it ended. */
import { chargeTable } from '../../domain/machines/charge.machine.js'
import { run } from '../../domain/run.js'
import type { Charge } from '../../ports/charge.js'
import type { Logger } from '../../ports/logger.js'
import type { EndedCall, Witness } from '../../ports/witness.js'
import { type Call, newCall } from './call.js'
import { closeCall } from './close.js'
import { chargeEffects } from './effects/index.js'
import { endedCall, outcomeOf, takenOver } from './outcome.js'
import type { InFlight, World } from './world.js'

export function createCharge(world: World, witnesses: readonly Witness[], inFlight: InFlight): Charge {
  const effects = chargeEffects(world)
  const onBroke = ({ traceId }: Call, cause: unknown, state: string) =>
    world.logger.error({ err: cause, state, traceId }, 'an effect broke')
  return {
    async call(endpoint, request) {
      const listing = world.listings.get(endpoint)
      if (listing === undefined) throw new Error(`no endpoint is named ${endpoint}`)
      inFlight.enter()
      try {
        const call = newCall(world, listing, request)
        const walked = await run(chargeTable, effects, call, onBroke, world.clock.monotonic)
        const closed = closeCall(world, call, walked.final, inFlight)
        const isTakenOver = closed !== undefined && (await closed) === 'superseded'
        const outcome = (isTakenOver ? takenOver : outcomeOf)(world, call, walked)
        tell(witnesses, endedCall(world, call, outcome, walked), world.logger)
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
