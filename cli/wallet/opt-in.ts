/** Opts an account in to USDC: a transfer of nothing to itself. */
import algosdk from 'algosdk'
import { remotesOf } from '../../src/app/server/remotes-from-options.js'
import { SvcError } from '../../src/domain/errors.js'
import { type Network, USDC_ASSET_ID } from '../../src/domain/network.js'
import { OPT_IN_FEE_MICRO_ALGOS } from './holdings.js'
import type { WalletKey } from './read-key.js'

/** A round takes about 3 s. */
const CONFIRMED_WITHIN_ROUNDS = 10

/**
 * @returns the transaction id, once the transfer has landed
 * @throws SvcError `optin_refused` where nothing landed, `optin_unknown` where it may still land
 */
export async function optIn(
  network: Network,
  { address, secretKey }: WalletKey,
  algodUrl?: string,
): Promise<string> {
  const { algodUrl: url } = remotesOf({ ...(algodUrl && { algodUrl }) }, network)
  const node = new algosdk.Algodv2('', url, new URL(url).port)
  const suggestedParams = await node.getTransactionParams().do()
  const transfer = algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
    sender: address,
    receiver: address,
    amount: 0n,
    assetIndex: USDC_ASSET_ID[network],
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
