/**
 * Gets an answer that was paid for and lost. A payment that landed is public, so its seller gives the answer to nobody but the
 * payer, who signs a short text besides: x402's extension `sign-in-with-x`. The text names the payment and the origin that is
 * called, and no other payment and no other seller can be asked with it.
 */
import { toBase64 } from '../../domain/bytes.js'
import { isIdOf, type NetworkFacts } from '../../domain/network.js'
import {
  proofBytes,
  SIGN_IN_WITH_X,
  SIGN_IN_WITH_X_HEADER,
  type UnsignedProof,
} from '../../domain/sign-in-with-x.js'
import { encodeHeader, listIn, memberAt, type PaymentRequired } from '../../domain/x402.js'
import { unlessAborted, withTimeout } from '../../ports/clock.js'
import type { PaymentSigner, SignedPayment } from '../../ports/payment-signer.js'
import { randomId } from '../../ports/random.js'
import type { HttpRequest } from './build-request.js'
import type { Settings } from './client-options.js'
import { errorCodeOf, isSuccess, namesPayment } from './http-reply.js'
import type { SelectedRequirements } from './read-quote.js'
import type { Delivery, SentPayment } from './send-with-retries.js'

/** The prefix "MX" of what is signed, which the signer adds. */
const PREFIX_BYTES = 2
const URI_LENGTH_MAX = 2_048

interface ProofDeps extends Pick<Settings, 'network' | 'clock' | 'random' | 'timeoutMs'> {
  readonly signer: PaymentSigner
  deliver(request: HttpRequest, payment: SentPayment): Promise<Delivery>
}

interface Spent {
  readonly selected: SelectedRequirements
  readonly signed: SignedPayment
  readonly landsUntilMs: number
}

/**
 * Sends the same payment once more, with a proof of its payer, where the seller says that this payment was spent. `undefined` where no
 * answer comes of it: the quote declares no proofs for this network, or the signer makes none, or the seller refuses this one. Never
 * rejects, because what became of the payment is known already.
 */
export async function provenDelivery(
  paid: HttpRequest,
  { reply, attempts }: Delivery,
  spent: Spent,
  deps: ProofDeps,
): Promise<Delivery | undefined> {
  const { txId } = spent.signed
  if (!reply || errorCodeOf(reply) !== 'payment_spent' || !namesPayment(reply, txId)) return undefined
  if (!takesProofs(spent.selected.challenge, deps.network)) return undefined
  try {
    const about = { chainId: spent.selected.accepted.network, requestId: txId }
    const waiting = withTimeout(deps.clock, deps.timeoutMs, proofOf(paid.url, about, deps))
    const proof = await unlessAborted(waiting, paid.signal, 'The proof was aborted')
    if (proof === undefined) return undefined
    const proving = { ...paid, headers: { ...paid.headers, [SIGN_IN_WITH_X_HEADER]: proof } }
    const again = await deps.deliver(proving, { txId, landsUntilMs: spent.landsUntilMs })
    const isAnswered = again.reply !== undefined && isSuccess(again.reply)
    return isAnswered ? { ...again, attempts: attempts + again.attempts, everLost: true } : undefined
  } catch {
    return undefined
  }
}

/** A seller ignores a proof for a chain that it did not declare. */
function takesProofs({ extensions }: PaymentRequired, network: NetworkFacts): boolean {
  const chains = listIn(memberAt(extensions, SIGN_IN_WITH_X, 'supportedChains'))
  return chains.some(chain => isIdOf(network, memberAt(chain, 'chainId')))
}

export async function proofOf(
  { host, origin, pathname, search }: URL,
  spent: Pick<UnsignedProof, 'chainId' | 'requestId'>,
  { signer, clock, random }: Pick<ProofDeps, 'signer' | 'clock' | 'random'>,
): Promise<string | undefined> {
  const uri = origin + pathname + search
  const unsigned: UnsignedProof = {
    domain: host,
    address: signer.address,
    uri: uri.length > URI_LENGTH_MAX ? origin : uri,
    version: '1',
    type: 'ed25519',
    nonce: randomId(random),
    issuedAt: new Date(clock.now()).toISOString(),
    ...spent,
  }
  const signature = await signer.signText?.(proofBytes(unsigned).subarray(PREFIX_BYTES))
  return signature && encodeHeader({ ...unsigned, signature: toBase64(signature) })
}
