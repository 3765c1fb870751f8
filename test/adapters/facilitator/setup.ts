import { readFileSync } from 'node:fs'
import {
  type FacilitatorOptions,
  type X402Facilitator,
  x402Facilitator,
} from '../../../src/adapters/facilitator/x402-facilitator.js'
import { ALGORAND_TESTNET, TESTNET } from '../../../src/domain/network.js'
import type { PaymentPayload, PaymentRequirements } from '../../../src/domain/x402.js'
import { closing } from '../../support/closing.js'
import {
  type FakeFacilitator,
  fakeFacilitator,
  json,
  type Path,
  type Reply,
} from '../../support/fake-facilitator.js'

/** The two spellings of testnet: 32 characters, and the whole genesis hash. */
export const SHORT = ALGORAND_TESTNET
export const FULL = `algorand:${TESTNET.genesisHash}`

interface Vector {
  readonly name: string
  readonly paymentPayload: PaymentPayload & { readonly accepted: PaymentRequirements }
  readonly facilitatorBody: { readonly paymentRequirements: PaymentRequirements }
  readonly verify: object
  readonly settle: { readonly transaction: string; readonly network: string; readonly payer: string }
}

/** Payments that the official client signed, and what the official packages sent and answered about them. */
export const VECTORS: readonly Vector[] = JSON.parse(
  readFileSync(new URL('../../vectors/payments.json', import.meta.url), 'utf8'),
).payments

export const [VECTOR] = VECTORS as [Vector]
export const REQUIREMENTS = VECTOR.facilitatorBody.paymentRequirements
export const SPONSOR = REQUIREMENTS.extra.feePayer as string
export const OTHER_SPONSOR = 'A'.repeat(58)

/** A payload object of its own: what is remembered about a payment is remembered by identity. */
export const newPayment = (): PaymentPayload => structuredClone(VECTOR.paymentPayload)

export const listing = (network: string, extra: unknown = { feePayer: SPONSOR }): Reply =>
  json({ kinds: [{ x402Version: 2, scheme: 'exact', network, extra }], extensions: [], signers: {} })

export function startFake(replies: Partial<Record<Path, Reply>> = {}): Promise<FakeFacilitator> {
  return fakeFacilitator({ '/supported': listing(SHORT), ...replies })
}

export function adapterTo(url: string, options: Partial<FacilitatorOptions> = {}): X402Facilitator {
  // On a busy machine the first answer takes longer than callers wait for it elsewhere.
  return closing(x402Facilitator({ url, network: TESTNET, firstWaitMs: 20_000, ...options }))
}

export async function start(
  replies: Partial<Record<Path, Reply>> = {},
  options: Partial<FacilitatorOptions> = {},
): Promise<{ fake: FakeFacilitator; facilitator: X402Facilitator }> {
  const fake = await startFake(replies)
  return { fake, facilitator: adapterTo(fake.url, options) }
}
