/** Checks that the agent has an address for payments, and that a payment could arrive there. */

import { isValidAddress } from '../../src/adapters/algorand/address.js'
import type { Algod } from '../../src/adapters/algorand/node-clients.js'
import { bigintIn, type NodeClient } from '../../src/adapters/algorand/node-response-reader.js'
import { isAddress } from '../../src/domain/address.js'
import { formatUsd } from '../../src/domain/money.js'
import type { NetworkFacts } from '../../src/domain/network.js'
import { type Finding, failed, messageOf, ok, skipped } from './finding.js'

const PAY_TO = 'payTo'
const OPT_IN = 'USDC opt-in'

export function payTo(address: string | undefined): Finding {
  if (!address) {
    return failed(PAY_TO, 'not set', 'Put the address to be paid at into SVC_PAY_TO, or give --pay-to.')
  }
  if (!isAddress(address)) {
    return failed(
      PAY_TO,
      `'${address}' is not an address`,
      'An Algorand address has 58 characters, A-Z and 2-7.',
    )
  }
  if (!isValidAddress(address)) {
    return failed(
      PAY_TO,
      `${address} has a wrong checksum`,
      'A character is wrong: copy it again from the wallet.',
    )
  }
  return ok(PAY_TO, address)
}

/** The network refuses a payment to an account that has not opted in, and it does so after the handler has worked. */
export async function usdcOptIn(
  address: string | undefined,
  network: NetworkFacts,
  { algod, node }: { algod: Pick<Algod, 'assetHolding'>; node: Pick<NodeClient, 'get'> },
): Promise<Finding> {
  if (!isValidAddress(address)) return skipped(OPT_IN, 'there is no payTo to look up')
  const assetId = network.usdc
  try {
    const holding = await algod.assetHolding(address, assetId)
    if (holding?.frozen) {
      return failed(OPT_IN, "the account's USDC is frozen", 'Its issuer has frozen it: use another address.')
    }
    if (holding) return ok(OPT_IN, `opted in, holding ${formatUsd(holding.amount)} of USDC`)
    const microAlgos = bigintIn(await node.get(`/v2/accounts/${address}?exclude=all`), 'amount')
    const state = microAlgos === 0n ? 'does not exist yet' : 'is not opted in to USDC'
    return failed(
      OPT_IN,
      `the account ${state} on ${network.name}`,
      `Have 0.201 ALGO in it, then add asset ${assetId} in its wallet (a transfer of 0 USDC to itself).`,
    )
  } catch (error) {
    return failed(OPT_IN, messageOf(error), 'See the check of the Algorand node.')
  }
}
