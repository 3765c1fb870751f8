/** A signer that callers bring: its shape is checked now, and its every signature before it is used. */
import type { Algod } from '../../adapters/algorand/algod-questions.js'
import { algorandPaymentSigner } from '../../adapters/algorand/payment-signer.js'
import type { Network } from '../../domain/network.js'
import { isRecord } from '../../domain/x402.js'
import type { PaymentSigner, Signer } from '../../ports/payment-signer.js'
import { invalid } from './settings.js'

export interface ExternalSignerOptions {
  readonly signer: Signer
  readonly network: Network
  readonly algod: Algod
}

/** @throws SvcError `invalid_options`, `invalid_key` */
export function externalSigner({ signer, network, algod }: ExternalSignerOptions): PaymentSigner {
  const { sign, signTransactions }: Record<string, unknown> = isRecord(signer) ? signer : {}
  if (typeof sign !== 'function' && typeof signTransactions !== 'function')
    throw invalid('signer is {address, sign} or {address, signTransactions}')
  return algorandPaymentSigner({ key: signer, network, algod, externalKey: true })
}
