/** Which entry of a quote this client agrees to pay, and what it noticed about the quote. */
import { SdkError } from '../../domain/errors.js'
import type { Network } from '../../domain/network.js'
import type { PaymentRequired, PaymentRequirements } from '../../domain/x402.js'
import type { HttpReply } from './http-exchange.js'
import { challengeOf, foreignOrigin, payableEntry } from './quote.js'
import type { Warning } from './results.js'

export interface SelectedRequirements {
  readonly challenge: PaymentRequired
  readonly accepted: PaymentRequirements
  readonly warnings: readonly Warning[]
}

/** @throws SvcError `unreadable_quote`, `resource_elsewhere` */
export function selectRequirements(
  url: URL,
  quoted: HttpReply,
  { network, strictResource }: { readonly network: Network; readonly strictResource: boolean },
): SelectedRequirements {
  const challenge = challengeOf(quoted)
  const accepted = challenge && payableEntry(challenge, network)
  if (!challenge || !accepted) {
    throw new SdkError(
      `The quote of ${url.origin} offers no way to pay exactly in USDC on ${network}; nothing was paid`,
      'unreadable_quote',
      402,
      challenge,
    )
  }
  const elsewhere = foreignOrigin(challenge, url)
  const message = `The quote of ${url.origin} is for a resource at ${elsewhere}`
  if (elsewhere !== undefined && strictResource) {
    throw new SdkError(`${message}; nothing was paid`, 'resource_elsewhere', 402, challenge)
  }
  const warnings: Warning[] = elsewhere === undefined ? [] : [{ code: 'resource_elsewhere', message }]
  return { challenge, accepted, warnings }
}
