/** Checks that the node answers, is on the configured network, and knows USDC by the id in quotes. */
import type { Algod } from '../../src/adapters/algorand/node-clients.js'
import type { NodeClient } from '../../src/adapters/algorand/node-response-reader.js'
import { isPublicNetwork, type NetworkFacts, otherThan, USDC_DECIMALS } from '../../src/domain/network.js'
import { isRecord } from '../../src/domain/x402.js'
import { type Finding, failed, messageOf, ok } from './finding.js'

const NODE = 'Algorand node'
const ASSET = 'asset'

export async function algorandNode(
  url: string,
  network: NetworkFacts,
  algod: Pick<Algod, 'suggestedParams'>,
): Promise<Finding> {
  try {
    const params = await algod.suggestedParams()
    const other = otherThan(network, params)
    if (other === undefined) return ok(NODE, `${url} is on ${network.name}, at round ${params.lastRound}`)
    return failed(
      NODE,
      `${url} is not on ${network.name}: ${other}`,
      'Give a node of that network (--algod), the other --network, or the definition that the node answers to.',
    )
  } catch (error) {
    return failed(
      NODE,
      `${url}: ${messageOf(error)}`,
      'Check its URL (--algod) and that this machine may reach it.',
    )
  }
}

export async function usdcAsset(network: NetworkFacts, node: Pick<NodeClient, 'find'>, isSandbox: boolean) {
  const { usdc: id, name } = network
  const isPublic = isPublicNetwork(network.key)
  try {
    const asset = await node.find(`/v2/assets/${id}`)
    const { 'unit-name': unit, decimals } = isRecord(asset?.params) ? asset.params : {}
    // On a network of one's own the asset's name does not matter.
    if (decimals === USDC_DECIMALS && (unit === 'USDC' || !isPublic)) {
      const what = isSandbox ? `play money with the id of USDC on ${name}` : `is ${String(unit)}`
      return ok(ASSET, `${id}, ${what}, with ${decimals} decimals`)
    }
    const found = asset ? `is '${String(unit)}', with ${String(decimals)} decimals` : 'does not exist there'
    return failed(
      ASSET,
      `${id} ${found}`,
      isPublic
        ? `USDC has this id on ${name}: see the check of the node's network.`
        : `usdc in the definition of ${name} is an asset of ${USDC_DECIMALS} decimals there.`,
    )
  } catch (error) {
    return failed(ASSET, messageOf(error), 'See the check of the Algorand node.')
  }
}
