/**
 * Builds and signs the same group as the official client, byte for byte. Where the quote names a fee payer, an unsigned
 * payment of zero from the sponsor to itself stands before the payment and carries both fees.
 */
import { verifySignature } from '#platform'
import { concatBytes, toBase64 } from '../../domain/bytes.js'
import { SdkError, type SvcError } from '../../domain/errors.js'
import { parseBaseUnits } from '../../domain/money.js'
import { isIdOf, type NetworkFacts, otherThan } from '../../domain/network.js'
import { type PaymentRequired, type PaymentRequirements, X402_VERSION } from '../../domain/x402.js'
import { type Clock, systemClock, withTimeout } from '../../ports/clock.js'
import type { PaymentSigner, Signer } from '../../ports/payment-signer.js'
import { type Random, randomId, systemRandom } from '../../ports/random.js'
import { decodeAddress } from './address.js'
import { type Algod, cachedParams } from './algod-and-indexer.js'
import { type PaymentGroup, paymentGroup, signatureIn } from './build-payment-group.js'
import { signedBytes, textToSign } from './transaction-hashes.js'

export interface PaymentSignerOptions {
  readonly key: Signer
  readonly network: NetworkFacts
  readonly algod: Pick<Algod, 'suggestedParams'>
  /** Whether the key is external, such as a wallet. Its signatures are verified before use. @default false */
  readonly externalKey?: boolean
  /** The end of both notes. It must never repeat: two payments with equal terms and notes are one transaction. */
  readonly noteSource?: () => string
  /** How long a node's suggested parameters are used; 0 asks for every payment. */
  readonly paramsMaxAgeMs?: number
  /** What the account lacks for a payment of this amount; see `fundsCheck`. @default it is not asked */
  readonly lackOf?: (amount: bigint) => Promise<SvcError | undefined>
  /** How long the key may take for a signature. @default without end: a key of this process answers at once */
  readonly timeoutMs?: number
  readonly clock?: Pick<Clock, 'monotonic' | 'after'>
  readonly random?: Pick<Random, 'bytes'>
}

/** A round takes about 2.8 s. The official client uses 10 rounds; the ledger allows 1000. */
const ROUND_SECONDS = 2.8
const WINDOW_ROUNDS_MIN = 10
const WINDOW_ROUNDS_MAX = 1_000

const PARAMS_MAX_AGE_MS = 3_000

export function algorandPaymentSigner(options: PaymentSignerOptions): PaymentSigner {
  const { key, network, externalKey = false, clock = systemClock, random = systemRandom } = options
  const { lackOf = async () => undefined } = options
  const { noteSource = () => randomId(random), paramsMaxAgeMs = PARAMS_MAX_AGE_MS } = options
  const params = cachedParams(options.algod, paramsMaxAgeMs, clock.monotonic)
  const sender = decodeAddress(key.address)
  if (!sender) throw new SdkError('The address of the signer is no Algorand address', 'invalid_key')

  const { signBytes } = key
  const ownTextSigner = 'sign' in key ? (text: Uint8Array) => key.sign(prefixed(text)) : undefined
  const textSigner = externalKey ? signBytes?.bind(key) : ownTextSigner

  return {
    address: key.address,
    ...(textSigner && {
      async signText(text: Uint8Array) {
        const signature: unknown = await textSigner(text.slice())
        if (!ArrayBuffer.isView(signature)) return undefined
        const copy = Uint8Array.from(signature as Uint8Array)
        return verifySignature(sender, prefixed(text), copy) ? copy : undefined
      },
    }),
    async sign(challenge, accepted) {
      const terms = termsOf(accepted, network)
      const suggested = await params()
      const other = otherThan(network, suggested)
      if (other !== undefined) {
        const message = `The node is not on ${network.name} (${other}); nothing was signed`
        throw new SdkError(message, 'network_mismatch')
      }
      const lack = await lackOf(terms.amount)
      if (lack) throw lack
      const group = paymentGroup({ ...terms, sender, network, suggested, note: noteSource() })
      const { timeoutMs } = options
      const signing = signatureBy(key, group)
      const late = `The signer did not answer within ${timeoutMs} ms; nothing was paid`
      // A signature that comes later is not used.
      const signature = await (timeoutMs === undefined
        ? signing
        : withTimeout(clock, timeoutMs, signing, new SdkError(late, 'signer_timeout')))
      const wrong = `The signer did not sign the payment as ${key.address}; nothing was paid`
      if (externalKey && !isSignedBy(sender, group, signature)) throw new SdkError(wrong, 'invalid_key')
      const { txId, firstValid, lastValid } = group
      return { payload: payloadOf(group, signature, challenge, accepted), txId, firstValid, lastValid }
    },
  }
}

/** No transaction begins with it. */
const MX = new TextEncoder().encode('MX')

function prefixed(text: Uint8Array): Uint8Array {
  return concatBytes([MX, text])
}

function termsOf(accepted: PaymentRequirements, network: NetworkFacts) {
  const other = `The quote is for ${String(accepted.network)}, this key pays on ${network.name}`
  if (!isIdOf(network, accepted.network)) throw new SdkError(other, 'network_mismatch')
  const { scheme, extra } = accepted
  const amount = parseBaseUnits(accepted.amount)
  const assetId = parseBaseUnits(accepted.asset)
  const receiver = decodeAddress(accepted.payTo)
  const sponsor = extra?.feePayer ?? undefined
  const feePayer = decodeAddress(sponsor)
  if (scheme !== 'exact') throw unreadable('its scheme is not exact')
  if (!amount || !assetId) throw unreadable('its amount or asset is not a positive integer')
  if (!receiver) throw unreadable('its payTo is no address')
  if (sponsor !== undefined && !feePayer) throw unreadable('its feePayer is no address')
  const rounds = Math.ceil(accepted.maxTimeoutSeconds / ROUND_SECONDS)
  const windowRounds = Math.min(Math.max(rounds || 0, WINDOW_ROUNDS_MIN), WINDOW_ROUNDS_MAX)
  return { amount, assetId, receiver, feePayer, windowRounds }
}

async function signatureBy(key: Signer, { transactions, paymentIndex }: PaymentGroup): Promise<Uint8Array> {
  const payment = transactions[paymentIndex]!
  if ('sign' in key) {
    const signature: unknown = await key.sign(textToSign(payment))
    // A copy: the array may come from another realm, and the signer still owns it.
    if (ArrayBuffer.isView(signature)) return Uint8Array.from(signature as Uint8Array)
    throw new SdkError('The signer answered no signature; nothing was paid', 'invalid_key')
  }
  // Copies: a wallet may write into what it is shown, and what it signs is held against the payment.
  const shown = transactions.map(transaction => transaction.slice())
  const signed = await key.signTransactions(shown, [paymentIndex])
  // Some wallets leave gaps for transactions that they did not sign, others do not.
  const answer = signed[paymentIndex] ?? signed.find(one => one !== null)
  const signature = answer && signatureIn(answer, payment)
  if (signature) return signature
  throw new SdkError('The wallet signed something else than the payment; nothing was paid', 'invalid_key')
}

function isSignedBy(sender: Uint8Array, { transactions, paymentIndex }: PaymentGroup, signature: Uint8Array) {
  return verifySignature(sender, textToSign(transactions[paymentIndex]!), signature)
}

function payloadOf(
  { transactions, paymentIndex }: PaymentGroup,
  signature: Uint8Array,
  challenge: PaymentRequired,
  accepted: PaymentRequirements,
) {
  const signed = transactions.map((one, at) => (at === paymentIndex ? signedBytes(one, signature) : one))
  return {
    x402Version: X402_VERSION,
    payload: { paymentGroup: signed.map(toBase64), paymentIndex },
    ...(challenge.extensions === undefined ? {} : { extensions: challenge.extensions }),
    ...(challenge.resource === undefined ? {} : { resource: challenge.resource }),
    accepted,
  }
}

function unreadable(why: string): SvcError {
  return new SdkError(`The quote cannot be paid: ${why}`, 'unreadable_quote')
}
