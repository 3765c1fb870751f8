/** Connects a server to its facilitators, its node and its indexer, as the settings say. */
import { algodClient, indexerClient } from '../../adapters/algorand/algod-and-indexer.js'
import type { NodeWatch } from '../../adapters/algorand/watch-node.js'
import { facilitatorInProcess } from '../../adapters/facilitator/in-process.js'
import { type X402Facilitator, x402Facilitator } from '../../adapters/facilitator/x402-facilitator.js'
import { SvcError } from '../../domain/errors.js'
import type { ProtocolFacilitator } from '../../ports/facilitator.js'
import { randomId } from '../../ports/random.js'
import type { Settings } from './options/server-settings.js'
import type { ServerEnvironment } from './server-environment.js'

type Facilitators = readonly [X402Facilitator, ...X402Facilitator[]]

/** @throws SvcError `invalid_options`, `invalid_facilitator` */
export function facilitatorsOf(
  settings: Settings,
  { clock, random, exchange }: ServerEnvironment,
): Facilitators {
  const { network, facilitator, facilitatorsElsewhere, allowHttp, logger, rules, warn } = settings
  const askerId = randomId(random)
  if (facilitator) return [ownFacilitator(facilitator, settings, askerId)]
  const [first, ...others] = facilitatorsElsewhere.map(({ url, token }) => {
    const elsewhere: X402Facilitator = x402Facilitator({
      url,
      token,
      network,
      allowHttp,
      connectionsMax: settings.maxFacilitatorConnections,
      askerId,
      // Facilitators are asked one after the other, so their timeouts add up.
      verifyTimeoutMs: Math.ceil(rules.timeouts.verifyMs / facilitatorsElsewhere.length),
      settleTimeoutMs: rules.timeouts.settleMs,
      // A seller without a logger is told of one that has never answered, at start.
      warn: why => (elsewhere.status.answered ? logger.warn({}, why) : warn(`${why}. ${NO_FACILITATOR}`)),
      clock,
      exchange,
    })
    return elsewhere
  })
  if (first === undefined) throw new SvcError('facilitatorUrl names no facilitator', 'invalid_options')
  return [first, ...others]
}

const NO_FACILITATOR = 'Until one answers, paid calls get 503 and are not charged'

/** An agent whose payments its facilitator refuses must not start: it would only find out when a buyer pays. */
function ownFacilitator(
  own: ProtocolFacilitator,
  { agent, network }: Settings,
  askerId: string,
): X402Facilitator {
  const inProcess = facilitatorInProcess(own, network, askerId)
  if (!inProcess)
    throw new SvcError(`The facilitator does not settle on ${network.name}`, 'invalid_facilitator')
  if (own.pays(agent.payTo)) return inProcess
  const message = `The facilitator does not settle payments to ${agent.payTo}: list it in payTo`
  throw new SvcError(message, 'invalid_facilitator')
}

export function nodesOf(
  { algodUrl, algodToken, indexerUrl }: Settings,
  { clock, exchange }: ServerEnvironment,
) {
  return {
    algod: algodClient({ url: algodUrl, token: algodToken, clock, exchange }),
    indexer: indexerUrl === undefined ? undefined : indexerClient({ url: indexerUrl, clock, exchange }),
  }
}

const CHECK_EVERY_MS = 30_000

/** Logs each change in the Algorand node's status once, for the seller. */
export function nodeStatusLog({ warn, logger }: Settings): NodeWatch {
  return {
    everyMs: CHECK_EVERY_MS,
    onChange(status, genesisHash) {
      if (status === 'wrongNetwork') {
        warn('The Algorand node (algodUrl) is of another network: nothing that it says is used', {
          genesisHash,
        })
      } else if (status === 'unanswered') {
        const lacks = 'rounds are unknown and no settlement can be proven'
        logger.warn({}, `the Algorand node gives no usable answer: ${lacks}`)
      } else logger.info({}, 'the Algorand node answers for our network again')
    },
  }
}
