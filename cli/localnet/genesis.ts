/** What a node says it is. A public network is refused before anything is asked of a wallet, signed or sent. */

import { type NodeClient, textIn } from '../../src/adapters/algorand/node-clients.js'
import { SvcError } from '../../src/domain/errors.js'
import { MAINNET, TESTNET } from '../../src/domain/network.js'

export interface Genesis {
  readonly genesisId: string
  readonly genesisHash: string
}

/** Ids of the networks that are nobody's own. */
const PUBLIC_ID = /^(main|test|beta|f)net-/i

/** @throws SvcError `node_unavailable`, `invalid_network` */
export async function privateGenesis(node: Pick<NodeClient, 'get'>, url: string): Promise<Genesis> {
  const body = await node.get('/v2/transactions/params').catch(error => {
    const why = error instanceof Error ? error.message : String(error)
    const cure =
      'start AlgoKit LocalNet with: algokit localnet start (https://dev.algorand.co/algokit/cli/localnet)'
    throw new SvcError(`No LocalNet at ${url}; ${cure}. ${why}`, 'node_unavailable', 503)
  })
  const genesis = { genesisId: textIn(body, 'genesis-id'), genesisHash: textIn(body, 'genesis-hash') }
  const isPublic = [MAINNET, TESTNET].some(({ genesisHash }) => genesisHash === genesis.genesisHash)
  if (!isPublic && !PUBLIC_ID.test(genesis.genesisId)) return genesis
  throw new SvcError(
    `The node at ${url} is of the public network ${genesis.genesisId}: this works on a LocalNet only`,
    'invalid_network',
  )
}
