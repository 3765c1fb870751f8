/** Runs all checks at once: none waits for another. */
import { algodClient, nodeClient } from '../../src/adapters/algorand/node-clients.js'
import { remotesOf } from '../../src/app/server/remotes-from-options.js'
import { SvcError } from '../../src/domain/errors.js'
import type { NetworkFacts } from '../../src/domain/network.js'
import { algorandNode, usdcAsset } from './algorand-node.js'
import { facilitatorFindings } from './facilitator.js'
import type { Finding } from './finding.js'
import { nodeVersion } from './node-check.js'
import { payTo, usdcOptIn } from './pay-to.js'

export interface Examined {
  readonly network: NetworkFacts
  readonly payTo: string | undefined
  readonly facilitatorUrl: string | undefined
  readonly algodUrl: string | undefined
}

const NODE_TIMEOUT_MS = 5_000
const TOKEN_HEADER = 'X-Algo-API-Token'

export async function examine(examined: Examined): Promise<Finding[]> {
  const { network, payTo: address } = examined
  const { facilitatorUrls, algodUrl, algodToken } = remotesOf(examined, network)
  const isSandbox = algodUrl === process.env.SVC_SANDBOX
  if (algodUrl === undefined)
    throw new SvcError(`There is no algodUrl for ${network.name}: give --algod`, 'invalid_options')
  const options = { url: algodUrl, token: algodToken, nodeTimeoutMs: NODE_TIMEOUT_MS }
  const algod = algodClient(options)
  const node = nodeClient(options, TOKEN_HEADER)
  try {
    const findings = await Promise.all([
      nodeVersion(),
      payTo(address),
      usdcOptIn(address, network, { algod, node }),
      facilitatorFindings(facilitatorUrls[0], network),
      algorandNode(algodUrl, network, algod),
      usdcAsset(network, node, isSandbox),
    ])
    return findings.flat()
  } finally {
    await Promise.all([algod.close(), node.close()])
  }
}
