/** A line for every call that has ended: what became of it, and the ids to find it by. Never a body, a header, a payer. */
import type { Logger } from '../../ports/logger.js'
import type { EndedCall, Witness } from '../../ports/witness.js'

export function requestLog(logger: Logger): Witness {
  return {
    ended({ id, traceId, endpoint, final, status, code, charged, ms, txId, amount, asset }: EndedCall) {
      logger.info(
        { id, traceId, endpoint, final, status, code, charged, ms, txId, amount, asset },
        'call ended',
      )
    },
  }
}
