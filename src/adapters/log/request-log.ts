/** A line for every call that has ended: what became of it, and the ids to find it by. Never a body, a header, a payer. */

import type { CallObserver, EndedCall } from '../../ports/call-observer.js'
import type { Logger } from '../../ports/logger.js'

export function requestLog(logger: Logger): CallObserver {
  return {
    ended({ id, traceId, endpoint, final, status, code, charged, ms, txId, amount, asset }: EndedCall) {
      logger.info(
        { id, traceId, endpoint, final, status, code, charged, ms, txId, amount, asset },
        'call ended',
      )
    },
  }
}
