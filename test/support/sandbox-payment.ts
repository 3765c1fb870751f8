/** A signed payment to the sandbox's seller, as the body that facilitators are sent. */

import { ALGORAND_TESTNET } from '../../src/domain/network.js'
import type { PaymentRequired, PaymentRequirements } from '../../src/domain/x402.js'
import type { PaymentSigner } from '../../src/ports/payment-signer.js'
import type { Sandbox } from '../../src/sandbox/sandbox-options.js'

export function quoteFor(sandbox: Sandbox, changes: Partial<PaymentRequirements> = {}): PaymentRequirements {
  return {
    scheme: 'exact',
    network: ALGORAND_TESTNET,
    amount: '10000',
    asset: '10458941',
    payTo: sandbox.seller.address,
    maxTimeoutSeconds: 60,
    extra: { feePayer: sandbox.feePayer },
    ...changes,
  }
}

export function payerOf(sandbox: Sandbox, signer: PaymentSigner) {
  return async (changes: Partial<PaymentRequirements> = {}, challenge: Partial<PaymentRequired> = {}) => {
    const paymentRequirements = quoteFor(sandbox, changes)
    const resource = { url: 'https://agent.example/paid' }
    const required = { x402Version: 2, resource, accepts: [paymentRequirements], ...challenge }
    const signed = await signer.sign(required, paymentRequirements)
    return { ...signed, body: { x402Version: 2, paymentPayload: signed.payload, paymentRequirements } }
  }
}
