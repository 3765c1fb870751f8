/** Runs all checks at once: none waits for another. */
import { algodOver } from '../../src/adapters/algorand/node-clients.js'
import { nodeClient } from '../../src/adapters/algorand/node-response-reader.js'
import { remotesOf } from '../../src/app/server/remotes-from-options.js'
import type { NetworkFacts } from '../../src/domain/network.js'
import { nodeOf } from '../nodes-of-network.js'
import { algorandNode, usdcAsset } from './algorand-node.js'
import { facilitatorFindings, inProcessFindings } from './facilitator.js'
import type { Finding } from './finding.js'
import { nodeVersion } from './node-check.js'
import { payTo, usdcOptIn } from './pay-to.js'

export interface Examined {
  readonly network: NetworkFacts
  readonly payTo: string | undefined
  readonly facilitatorUrl: string | undefined
  /** The account that pays the fees, where the facilitator is in the agent's process. */
  readonly sponsor: string | undefined
  readonly algodUrl: string | undefined
  /** Of the node at `algodUrl`. */
  readonly algodToken: string | undefined
}

const NODE_TIMEOUT_MS = 5_000

export async function examine(examined: Examined): Promise<Finding[]> {
  const { network, payTo: address, sponsor, algodToken: token } = examined
  const { facilitatorsElsewhere } = remotesOf({ facilitatorUrl: examined.facilitatorUrl }, network)
  const named = nodeOf(network, examined.algodUrl)
  const options = { ...named, ...(token && { token }), nodeTimeoutMs: NODE_TIMEOUT_MS }
  const isSandbox = options.url === process.env.SVC_SANDBOX
  const node = nodeClient(options)
  const algod = algodOver(node)
  try {
    const findings = await Promise.all([
      nodeVersion(),
      payTo(address),
      usdcOptIn(address, network, { algod, node }),
      sponsor === undefined
        ? facilitatorFindings(facilitatorsElsewhere[0]?.url, network)
        : inProcessFindings(sponsor, algod),
      algorandNode(options.url, network, algod),
      usdcAsset(network, node, isSandbox),
    ])
    return findings.flat()
  } finally {
    await node.close()
  }
}
