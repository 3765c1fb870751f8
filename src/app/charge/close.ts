/** The closing move of a call: what its final state says is done to the claim and the payment that it holds. */
import { type ChargeFinal, OUTCOMES } from '../../domain/machines/charge.machine.js'
import type { CloseMove } from '../../ports/charge-store.js'
import type { Call } from './call.js'
import { seal } from './claim.js'
import { replayedAnswer } from './effects/record.js'
import type { World } from './world.js'

const nothing = () => {}

/**
 * A release is awaited, because "not charged" is said only once the payment is free again. A completion is sent and not
 * awaited: after a settlement no answer is withheld for a store's error. Answers what to do when the answer has reached
 * the socket, or has not.
 */
export async function closeCall(
  world: World,
  call: Call,
  final: ChargeFinal,
): Promise<(arrived: boolean) => void> {
  const { closing } = OUTCOMES[final]
  if (closing === 'release' && call.window !== undefined) await dropWindow(world, call.window.id)
  if (!call.held || closing === 'keep') return nothing
  if (closing === 'release') {
    await close(world, call, 'release')
    return nothing
  }
  // The specification's row: an answer that its caller never got frees the claim, and a retry may be charged again.
  const untilHandedOver = call.hold!.claim && world.rules.idempotency!.onLostResponse === 'release'
  if (untilHandedOver) return arrived => void close(world, call, arrived ? 'complete' : 'forfeit')
  void close(world, call, 'complete')
  return nothing
}

async function close(world: World, call: Call, how: CloseMove['how']): Promise<void> {
  const hold = call.hold!
  // A call that settled has stored its answer already; one that a window covered stores it here.
  const unrecorded = how === 'complete' && hold.claim && call.requirements === undefined
  try {
    await world.store.close({
      ...hold,
      how,
      windowMs: world.rules.idempotency?.windowMs ?? 0,
      ...(unrecorded && {
        answer: seal(replayedAnswer(call), call.request.idempotencyKey!, hold.claim!.name),
      }),
    })
  } catch (cause) {
    world.logger.error(
      { err: cause, how, txId: call.txId },
      'the charge store did not close; leases and the chain will',
    )
  }
}

async function dropWindow(world: World, id: string): Promise<void> {
  try {
    await world.subscriptions.delete?.(id)
  } catch (cause) {
    world.logger.warn({ err: cause }, 'an unsold window was not deleted; nobody has its key')
  }
}
