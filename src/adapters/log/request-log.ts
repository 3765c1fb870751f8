/** A line for every ended call: its result and its ids. It never has a body, a header or a payer. */
import type { CallObserver } from '../../ports/call-observer.js'
import type { Logger } from '../../ports/logger.js'

export function requestLog(logger: Logger): CallObserver {
  return {
    ended(call) {
      const { id, traceId, endpoint, final, status, code, charged, ms, streamBroken, brokenBy } = call
      const { txId, amount, asset } = call
      const broken = streamBroken && { streamBroken, brokenBy }
      logger.info(
        { id, traceId, endpoint, final, status, code, charged, ms, txId, amount, asset, ...broken },
        'call ended',
      )
    },
  }
}
