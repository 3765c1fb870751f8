/**
 * Says before a payment is signed what the paying account lacks: facilitators say it in the words of a simulated transaction, and
 * only after the seller has the payment. The node is asked for the first payment, after it has told its parameters, and again
 * only where the balance that it told, less what was signed since, does not suffice. So an account with money costs no more
 * questions. A node that does not answer stops no payment.
 */
import { SdkError, type SvcError } from '../../domain/errors.js'
import { formatUsd } from '../../domain/money.js'
import type { NetworkFacts } from '../../domain/network.js'
import type { Algod } from './node-clients.js'

interface FundsCheckOptions {
  readonly algod: Pick<Algod, 'account' | 'assetHolding'>
  readonly network: NetworkFacts
  readonly address: string
}

const UNKNOWN = 2n ** 64n

export function fundsCheck({
  algod,
  network,
  address,
}: FundsCheckOptions): (amount: bigint) => Promise<SvcError | undefined> {
  /** `undefined`: not opted in. */
  let left: bigint | undefined
  let reading: Promise<void> | undefined

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
    if (left === undefined || left < amount) {
      reading ??= read().finally(() => {
        reading = undefined
      })
      await reading
    }
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
