/** Whether the receiver can receive. */
import { isValidAddress } from '../../../src/adapters/algorand/address.js'
import { type PublicNetwork, publicNetworkOf } from '../../../src/domain/network.js'
import type { PaymentRequirements } from '../../../src/domain/x402.js'
import type { ChainReader } from '../chain/chain-reader.js'
import { type Check, failed, passed, quoted, untold } from '../checks.js'

const NAME = 'pay-to-opted-in'

export async function payToCheck(
  payable: PaymentRequirements | undefined,
  chains: Readonly<Record<PublicNetwork, ChainReader>>,
): Promise<Check> {
  if (!payable) return untold(NAME, 'no entry in USDC on Algorand', 'Offer one first')
  const { payTo } = payable
  const network = publicNetworkOf(payable.network)!
  if (!isValidAddress(payTo))
    return failed(NAME, `${quoted(payTo)} is no address`, 'Check payTo: its checksum does not hold')
  try {
    const holding = await chains[network].usdc(payTo)
    if (!holding) {
      return failed(
        NAME,
        `${payTo} has not opted in to USDC`,
        'Opt in with a transfer of zero USDC to itself',
      )
    }
    if (holding.frozen) return failed(NAME, `the USDC of ${payTo} is frozen`, 'Take another account')
    return passed(NAME, `${payTo} holds USDC on ${network}`)
  } catch {
    return untold(NAME, `no node of ${network} answered`, 'Ask again later')
  }
}
