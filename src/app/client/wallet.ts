import type { Algod } from '../../adapters/algorand/node-clients.js'
import { usdNumber } from '../../domain/money.js'
import type { NetworkFacts } from '../../domain/network.js'

/** What a wallet holds. */
export interface Balance {
  /** The paying address. */
  readonly address: string
  /** USDC in base units (millionths); `null` where the account has not opted in to USDC. */
  readonly usdc: bigint | null
  /** The same in USD; `null` likewise. */
  readonly usd: number | null
  /** Frozen USDC cannot be paid. */
  readonly frozen: boolean
  /** ALGO, in millionths. */
  readonly microAlgos: bigint
}

export async function walletBalance(
  algod: Pick<Algod, 'account' | 'assetHolding'>,
  network: NetworkFacts,
  address: string,
): Promise<Balance> {
  const [{ microAlgos }, holding] = await Promise.all([
    algod.account(address),
    algod.assetHolding(address, network.usdc),
  ])
  const usdc = holding?.amount ?? null
  return {
    address,
    usdc,
    usd: usdc === null ? null : usdNumber(usdc),
    frozen: holding?.frozen ?? false,
    microAlgos,
  }
}
