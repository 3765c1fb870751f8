/** Logs each change in the Algorand node's status once, for the seller. */
import type { NodeWatch } from '../../adapters/algorand/checked-last-round.js'
import type { Logger } from '../../ports/logger.js'
import type { Warn } from './settings-from-options.js'

const CHECK_EVERY_MS = 30_000

export function nodeStatusLog(warn: Warn, logger: Logger): NodeWatch {
  return {
    everyMs: CHECK_EVERY_MS,
    onChange(status, genesisHash) {
      if (status === 'wrongNetwork') {
        warn('The Algorand node (algodUrl) is of another network: nothing that it says is used', {
          genesisHash,
        })
      } else if (status === 'unanswered') {
        logger.warn(
          {},
          'the Algorand node gives no usable answer: rounds are unknown and no settlement can be proven',
        )
      } else logger.info({}, 'the Algorand node answers for our network again')
    },
  }
}
