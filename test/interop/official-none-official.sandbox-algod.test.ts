/** The official client pays, the official facilitator verifies and settles; of ours is the ledger and the node alone. */
import { toClientAvmSigner, toFacilitatorAvmSigner } from '@x402/avm'
import { ExactAvmScheme as OfficialClient } from '@x402/avm/exact/client'
import { ExactAvmScheme as OfficialFacilitator } from '@x402/avm/exact/facilitator'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { seedFromMnemonic } from 'algosdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { algodClient } from '../../src/adapters/algorand/algod-and-indexer.js'
import { algorandPaymentSigner } from '../../src/adapters/algorand/sign-payment-group.js'
import { signingKeyFromSeed } from '../../src/adapters/algorand/signing-keys.js'
import { ALGORAND_TESTNET, TESTNET } from '../../src/domain/network.js'
import { type Sandbox, type SandboxAccount, startSandbox } from '../../src/sandbox.js'
import { quoteFor } from '../support/sandbox-payment.js'

let sandbox: Sandbox
let facilitator: OfficialFacilitator
let sponsor: SandboxAccount

beforeAll(async () => {
  sandbox = await startSandbox({ roundMs: 1_000 })
  sponsor = sandbox.accounts('official sponsor')
  facilitator = new OfficialFacilitator(
    toFacilitatorAvmSigner(secretKeyOf(sponsor), { testnetUrl: sandbox.algodUrl }),
  )
})
afterAll(() => sandbox.close())

describe('official client, official facilitator, our node', () => {
  it.each([
    ['sponsored, 32-character id', ALGORAND_TESTNET, true],
    ['sponsored, 44-character id', `algorand:${TESTNET.genesisHash}`, true],
    ['unsponsored', ALGORAND_TESTNET, false],
  ])('%s: paid, once', async (name, network, sponsored) => {
    const payer = sandbox.accounts(`official ${name}`)
    const requirements = quoteFor(sandbox, {
      network,
      extra: sponsored ? { feePayer: sponsor.address } : {},
    }) as PaymentRequirements
    const payload = await officialPayment(payer, requirements)
    const seller = sandbox.balance(sandbox.seller.address).usdc!
    const sponsorAlgos = sandbox.balance(sponsor.address).microAlgos

    expect(await facilitator.verify(payload, requirements)).toEqual({ isValid: true, payer: payer.address })
    const settled = await facilitator.settle(payload, requirements)
    expect(settled).toMatchObject({ success: true, network, payer: payer.address })
    expect(sandbox.transactions().map(({ txId }) => txId)).toContain(settled.transaction)
    expect(sandbox.balance(sandbox.seller.address).usdc).toBe(seller + 10_000n)
    expect(sandbox.balance(payer.address)).toEqual({
      microAlgos: sponsored ? 10_000_000n : 9_999_000n,
      usdc: 99_990_000n,
    })
    expect(sandbox.balance(sponsor.address).microAlgos).toBe(sponsorAlgos - (sponsored ? 2_000n : 0n))

    const again = await facilitator.settle(payload, requirements)
    expect(again).toMatchObject({ success: false, errorReason: 'invalid_exact_avm_simulation_failed' })
    expect(again.errorMessage).toContain('transaction already in ledger: ')
    expect(sandbox.balance(sandbox.seller.address).usdc).toBe(seller + 10_000n)
  })

  it('refuses in the ledger’s words a payer without the asset', async () => {
    const poor = sandbox.accounts('official poor')
    const requirements = quoteFor(sandbox, {
      amount: '100000001',
      extra: { feePayer: sponsor.address },
    }) as PaymentRequirements
    const verdict = await facilitator.verify(await officialPayment(poor, requirements), requirements)
    expect(verdict.invalidMessage).toMatch(/underflow on subtracting 100000001 from sender amount 100000000$/)
  })
})

describe('our client, official facilitator, our node', () => {
  it.each([true, false])('sponsored %s: paid', async sponsored => {
    const payer = sandbox.accounts(`ours, sponsored ${sponsored}`)
    const requirements = quoteFor(sandbox, { extra: sponsored ? { feePayer: sponsor.address } : {} })
    const algod = algodClient({ url: sandbox.algodUrl, nodeTimeoutMs: 20_000 })
    const key = signingKeyFromSeed(seedFromMnemonic(payer.mnemonic))
    const signer = algorandPaymentSigner({ key, network: TESTNET, algod })
    const challenge = { x402Version: 2, resource: { url: 'https://agent.example/' }, accepts: [requirements] }
    const { payload, txId } = await signer.sign(challenge, requirements)
    await algod.close()
    const settled = await facilitator.settle(
      payload as unknown as PaymentPayload,
      requirements as PaymentRequirements,
    )
    expect(settled).toMatchObject({ success: true, transaction: txId })
  })
})

async function officialPayment(
  payer: SandboxAccount,
  accepted: PaymentRequirements,
): Promise<PaymentPayload> {
  const client = new OfficialClient(toClientAvmSigner(secretKeyOf(payer)), { algodUrl: sandbox.algodUrl })
  const { payload } = await client.createPaymentPayload(2, accepted)
  return { x402Version: 2, payload, accepted, resource: { url: 'https://agent.example/' } } as PaymentPayload
}

/** What the official signers take: base64 of seed and public key. */
function secretKeyOf({ mnemonic }: SandboxAccount): string {
  const seed = seedFromMnemonic(mnemonic)
  return Buffer.concat([seed, signingKeyFromSeed(seed).publicKey]).toString('base64')
}
