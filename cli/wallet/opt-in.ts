/** Opts an account in to USDC: a transfer of nothing to itself. */
import algosdk from 'algosdk'
import { SvcError } from '../../src/domain/errors.js'
import type { NetworkFacts } from '../../src/domain/network.js'
import { nodeOf, OPT_IN_FEE_MICRO_ALGOS } from './holdings.js'
import type { WalletKey } from './read-key.js'

/** A round takes about 3 s. */
const CONFIRMED_WITHIN_ROUNDS = 10

/**
 * @returns the transaction id, once the transfer has landed
 * @throws SvcError `optin_refused` where nothing landed, `optin_unknown` where it may still land
 */
export async function optIn(
  network: NetworkFacts,
  { address, secretKey }: WalletKey,
  algodUrl?: string,
): Promise<string> {
  const { url, token = '' } = nodeOf(network, algodUrl)
  const node = new algosdk.Algodv2(token, url, new URL(url).port)
  const suggestedParams = await node.getTransactionParams().do()
  const transfer = algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
    sender: address,
    receiver: address,
    amount: 0n,
    assetIndex: network.usdc,
    // A node that asks for more is not believed.
    suggestedParams: { ...suggestedParams, flatFee: true, fee: OPT_IN_FEE_MICRO_ALGOS },
  })
  const txId = transfer.txID()
  try {
    await node.sendRawTransaction(transfer.signTxn(secretKey)).do()
  } catch (error) {
    throw new SvcError(`The node refused the opt-in: ${reasonOf(error)}`, 'optin_refused', undefined, {
      txId,
    })
  }
  try {
    await algosdk.waitForConfirmation(node, txId, CONFIRMED_WITHIN_ROUNDS)
  } catch (error) {
    throw new SvcError(
      `The opt-in was sent, and has not been seen to land: look ${txId} up (${reasonOf(error)})`,
      'optin_unknown',
      undefined,
      { txId },
    )
  }
  return txId
}

function reasonOf(error: unknown): string {
  const { response, message } = error as { response?: { body?: { message?: unknown } }; message?: unknown }
  return String(response?.body?.message ?? message ?? error)
}
