import { SvcError } from '../../src/domain/errors.js'
import type { ChainReader } from './chain/chain-reader.js'

/** Thrown where the work could not be done, and asking again later may help. The caller is not charged. */
export class OutOfReach extends SvcError {
  constructor(message: string) {
    super(message, 'out_of_reach', 503)
  }
}

/** The same chain, whose silence callers are told of; how its node failed is for the log. */
export function toldOutOfReach(chain: ChainReader): ChainReader {
  const told =
    <Asked extends unknown[], Answer>(ask: (...asked: Asked) => Promise<Answer>) =>
    async (...asked: Asked): Promise<Answer> => {
      try {
        return await ask(...asked)
      } catch (cause) {
        const message = `The node and the indexer of ${chain.network} cannot be read now; ask again later`
        throw Object.assign(new OutOfReach(message), { cause })
      }
    }
  return {
    ...chain,
    account: told(chain.account),
    usdc: told(chain.usdc),
    transaction: told(chain.transaction),
    group: told(chain.group),
    paymentsTo: told(chain.paymentsTo),
  }
}
