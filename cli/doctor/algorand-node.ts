/** Checks that the node answers, is on the configured network, and knows USDC by the id in quotes. */
import type { Algod, NodeClient } from '../../src/adapters/algorand/node-clients.js'
import { GENESIS_HASH, type Network, USDC_ASSET_ID, USDC_DECIMALS } from '../../src/domain/network.js'
import { isRecord } from '../../src/domain/x402.js'
import { type Finding, failed, messageOf, ok } from './finding.js'

const NODE = 'Algorand node'
const ASSET = 'asset'

export async function algorandNode(
  url: string,
  network: Network,
  algod: Pick<Algod, 'suggestedParams'>,
): Promise<Finding> {
  try {
    const { genesisHash, lastRound } = await algod.suggestedParams()
    if (genesisHash === GENESIS_HASH[network])
      return ok(NODE, `${url} is on ${network}, at round ${lastRound}`)
    return failed(
      NODE,
      `${url} is not on ${network}: its genesis hash is ${genesisHash}`,
      'Give a node of that network (--algod), or the other --network.',
    )
  } catch (error) {
    return failed(
      NODE,
      `${url}: ${messageOf(error)}`,
      'Check its URL (--algod) and that this machine may reach it.',
    )
  }
}

export async function usdcAsset(network: Network, node: Pick<NodeClient, 'find'>, isSandbox: boolean) {
  const id = USDC_ASSET_ID[network]
  // A sandbox has one asset, testnet's, and no route that describes it.
  if (isSandbox && network === 'testnet') return ok(ASSET, `${id}, play money with the id of USDC on testnet`)
  try {
    const asset = await node.find(`/v2/assets/${id}`)
    const { 'unit-name': unit, decimals } = isRecord(asset?.params) ? asset.params : {}
    if (unit === 'USDC' && decimals === USDC_DECIMALS)
      return ok(ASSET, `${id} is USDC, with ${decimals} decimals`)
    const found = asset ? `is '${String(unit)}', with ${String(decimals)} decimals` : 'does not exist there'
    return failed(
      ASSET,
      `${id} ${found}`,
      `USDC has this id on ${network}: see the check of the node's network.`,
    )
  } catch (error) {
    return failed(ASSET, messageOf(error), 'See the check of the Algorand node.')
  }
}
