/** A line for every ended call: its result and its ids. It never has a body, a header or a payer. */
import type { CallObserver, EndedCall } from '../../ports/call-observer.js'
import type { Logger } from '../../ports/logger.js'

export function requestLog(logger: Logger): CallObserver {
  return {
    ended(call: EndedCall) {
      const {
        id,
        traceId,
        endpoint,
        final,
        status,
        code,
        charged,
        ms,
        txId,
        amount,
        asset,
        streamBroken,
        brokenBy,
      } = call
      const broken = streamBroken && { streamBroken, brokenBy }
      logger.info(
        { id, traceId, endpoint, final, status, code, charged, ms, txId, amount, asset, ...broken },
        'call ended',
      )
    },
  }
}
