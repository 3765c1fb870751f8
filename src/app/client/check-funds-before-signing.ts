/**
 * Says before a payment is signed what the paying account lacks: facilitators say it in the words of a simulated transaction, and
 * only after the seller has the payment. The node is asked for the first payment, after it has told its parameters, and again
 * only where the balance that it told, less what was signed since, does not suffice. So an account with money costs no more
 * questions. A node that does not answer stops no payment.
 */
import type { Algod } from '../../adapters/algorand/algod-and-indexer.js'
import { SdkError, type SvcError } from '../../domain/errors.js'
import { sharedQuestions } from '../../domain/load-once.js'
import { formatUsd, usdNumber } from '../../domain/money.js'
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

type AccountReader = Pick<Algod, 'account' | 'assetHolding'>

export async function walletBalance(
  algod: AccountReader,
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

const UNKNOWN = 2n ** 64n

export function fundsCheck(
  algod: AccountReader,
  network: NetworkFacts,
  address: string,
): (amount: bigint) => Promise<SvcError | undefined> {
  /** `undefined`: not opted in. */
  let left: bigint | undefined
  const reading = sharedQuestions<void>()

  async function read(): Promise<void> {
    try {
      const holding = await algod.assetHolding(address, network.usdc)
      // The 404 may be a proxy's. Where this throws, nothing is known of the account.
      if (!holding) await algod.account(address)
      left = holding?.amount
    } catch {
      left = UNKNOWN
    }
  }

  return async amount => {
    if (left === undefined || left < amount) await reading(read)
    if (left === undefined) {
      const message = `This wallet is not opted in to USDC on ${network.name}: svc wallet optin; nothing was paid (${address})`
      return new SdkError(message, 'no_opt_in', 402, { address, amount: amount.toString() })
    }
    if (left < amount) {
      const message = `This wallet has ${formatUsd(left)}, the call costs ${formatUsd(amount)}; nothing was paid (${address})`
      const detail = { address, usdc: left.toString(), amount: amount.toString() }
      return new SdkError(message, 'insufficient_funds', 402, detail)
    }
    left -= amount
    return undefined
  }
}
