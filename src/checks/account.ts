/** Whether an address can be paid in USDC. */
import { isValidAddress } from '../adapters/algorand/address.js'
import type { Algod } from '../adapters/algorand/node-clients.js'
import { formatUsd } from '../domain/money.js'
import type { NetworkFacts } from '../domain/network.js'
import { isAddress } from '../domain/strangers-text.js'
import { type Finding, failed, ok, quoted } from './finding.js'

export function payToCheck(check: string, address: string): Finding {
  if (isValidAddress(address)) return ok(check, address)
  return isAddress(address)
    ? failed(check, `${address} has a wrong checksum`, 'A character is wrong: copy it again from the wallet.')
    : failed(
        check,
        `${quoted(address)} is not an address`,
        'An Algorand address has 58 characters, A-Z and 2-7.',
      )
}

/**
 * The network refuses a payment to an account that has not opted in, and it does so after the handler has worked.
 *
 * @throws SvcError `node_unavailable`
 */
export async function optInCheck(
  check: string,
  address: string,
  { usdc, name }: Pick<NetworkFacts, 'usdc' | 'name'>,
  algod: Pick<Algod, 'account' | 'assetHolding'>,
): Promise<Finding> {
  const holding = await algod.assetHolding(address, usdc)
  if (holding?.frozen)
    return failed(check, "the account's USDC is frozen", 'Its issuer has frozen it: use another address.')
  if (holding) return ok(check, `opted in, holding ${formatUsd(holding.amount)} of USDC`)
  const { microAlgos } = await algod.account(address)
  const state = microAlgos === 0n ? 'does not exist yet' : 'is not opted in to USDC'
  return failed(
    check,
    `the account ${state} on ${name}`,
    `Have 0.201 ALGO in it, then add asset ${usdc} in its wallet (a transfer of 0 USDC to itself).`,
  )
}
