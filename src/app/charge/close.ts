/** The closing move of a call: what its final state says is done to the claim and the payment that it holds. */
import { bodyBytes } from '../../domain/answer.js'
import { type ChargeFinal, OUTCOMES } from '../../domain/machines/charge.machine.js'
import type { CloseMove } from '../../ports/charge-store.js'
import type { Call } from './call.js'
import { seal } from './claim.js'
import { replayedAnswer } from './effects/record.js'
import type { InFlight, World } from './world.js'

/**
 * A release is awaited, because "not charged" is said only once the payment is free again. A completion is sent and not
 * awaited: after a settlement no answer is withheld for a store's error. It stays in flight until it is done, so that a
 * server that is told to stop does not leave before its books are closed. Answers what to do when the answer has
 * reached the socket, or has not; nothing, where that is all the same.
 */
export function closeCall(
  world: World,
  call: Call,
  final: ChargeFinal,
  inFlight: InFlight,
): Promise<undefined> | ((arrived: boolean) => void) | undefined {
  const { closing } = OUTCOMES[final]
  if (closing === 'release') return call.held || call.window ? release(world, call) : undefined
  if (!call.held || closing === 'keep') return undefined
  const finish = (how: CloseMove['how']) => void close(world, call, how).finally(inFlight.leave)
  inFlight.enter()
  // The specification's rows: an answer that its caller never got frees the claim, and a retry may be charged again; and
  // only a 2xx is replayed. Who asks for replay gets whatever was charged for.
  if (call.hold!.claim && world.rules.idempotency!.onLostResponse === 'release') {
    const isSuccess = call.answer!.status < 300
    return arrived => finish(arrived && isSuccess ? 'complete' : 'forfeit')
  }
  finish('complete')
  return undefined
}

async function release(world: World, call: Call): Promise<undefined> {
  if (call.window !== undefined) await dropWindow(world, call.window.id)
  if (call.held) await close(world, call, 'release')
}

async function close(world: World, call: Call, how: CloseMove['how']): Promise<void> {
  const hold = call.hold!
  // A call that settled has stored its answer already; one that a window covered stores it here.
  const unrecorded =
    how === 'complete' && hold.claim && call.requirements === undefined && isKept(world, call)
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

/** An answer too large to be kept is served and not replayed. */
function isKept(world: World, { answer }: Call): boolean {
  return bodyBytes(answer!) <= world.rules.idempotency!.answerBytesMax
}

async function dropWindow(world: World, id: string): Promise<void> {
  try {
    await world.subscriptions.delete?.(id)
  } catch (cause) {
    world.logger.warn({ err: cause }, 'an unsold window was not deleted; nobody has its key')
  }
}
