/** What we put on the wire, read by the official packages' own schemas. */
import { decodePaymentSignatureHeader } from '@x402/core/http'
import {
  PaymentPayloadV2Schema,
  PaymentRequiredV2Schema,
  parsePaymentPayload,
  parsePaymentRequired,
} from '@x402/core/schemas'
import { HTTPFacilitatorClient } from '@x402/core/server'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { sanitizeResourceServiceMetadata, validateDiscoveryExtension } from '@x402/extensions/bazaar'
import {
  buildSIWxSchema,
  parseSIWxHeader,
  SIGN_IN_WITH_X,
  type SIWxExtension,
  validateSIWxMessage,
} from '@x402/extensions/sign-in-with-x'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { LONG_ID, quoteIn, receiptIn, SHORT_ID, statusIn } from '../support/official.js'
import { proofIn, proving } from '../support/payer-proof.js'
import { ask, openSeller, pay, type Seller, signFor } from '../support/seller.js'

let sandbox: Sandbox
let seller: Seller
beforeAll(async () => {
  sandbox = await startSandbox()
  seller = await openSeller(
    [
      defineEndpoint({
        name: 'echo',
        description: 'Says it again. ¿Sí? 好',
        price: '$0.01',
        tags: ['text', 'echo'],
        extra: { tag: 'x402-global-challenge', weight: 0.5, beta: false },
        input: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
        handler: ({ body }) => body,
      }),
      defineEndpoint({ name: 'bare', method: 'GET', price: () => '$0.002', handler: () => 1 }),
      defineEndpoint({
        name: 'feed',
        subscription: { price: '$0.50', period: '1h' },
        handler: () => 1,
      }),
    ],
    {
      sandbox,
      about: {
        iconUrl: 'https://echo.example/icon.png',
        merchant: { name: 'Echo', website: 'https://echo.example', categories: ['text'] },
      },
    },
  )
})
afterAll(async () => {
  await seller.close()
  await sandbox.close()
})

const CALLS = [
  { sold: 'a described endpoint', path: '/echo', method: 'POST', body: { text: 'hello' } },
  { sold: 'an endpoint without a word', path: '/bare', method: 'GET' },
  { sold: 'a window', path: '/feed', method: 'POST' },
]

describe('the official schemas accept', () => {
  it.each(CALLS)('our challenge for $sold', async ({ path, ...probe }) => {
    const quote = quoteIn(await ask(seller.url + path, probe))
    expect(parsePaymentRequired(quote)).toMatchObject({ success: true })
    expect(sanitizeResourceServiceMetadata(quote.resource)).toEqual({
      serviceName: 'Test agent',
      iconUrl: 'https://echo.example/icon.png',
      ...(path === '/echo' && { tags: ['text', 'echo'] }),
    })
    // The schema drops what it does not know: that nothing is dropped shows that nothing of ours is foreign to it.
    expect(PaymentRequiredV2Schema.parse(quote)).toEqual(quote)
    const { [SIGN_IN_WITH_X]: signIn, ...described } = quote.extensions!
    for (const declared of Object.values(described)) {
      expect(validateDiscoveryExtension(declared as never)).toEqual({ valid: true })
    }
    // This extension's schema describes the proof, not `info`: the official declaration's does, too. A proof of ours names its
    // payment besides.
    const { info, schema } = signIn as SIWxExtension
    expect([...schema.required].sort()).toEqual([...buildSIWxSchema().required, 'requestId'].sort())
    const timeless = { maxAge: Number.POSITIVE_INFINITY }
    expect(await validateSIWxMessage(info as never, new URL(seller.url), timeless)).toEqual({ isValid: true })
  })

  it('our proof of the payer, which has the fields that a quote declares', async () => {
    const quote = quoteIn(await ask(`${seller.url}/bare`, { method: 'GET' }))
    const { schema } = quote.extensions![SIGN_IN_WITH_X] as SIWxExtension
    const payment = await signFor(seller, `${seller.url}/bare`, { method: 'GET' })
    const header = proving(sandbox.wallet, `${seller.url}/bare`, payment)
    const proof = parseSIWxHeader(header['sign-in-with-x'])
    expect(proof).toEqual(proofIn(header))
    expect(Object.keys(proof)).toEqual(expect.arrayContaining(schema.required))
    expect(await validateSIWxMessage(proof, new URL(seller.url))).toEqual({ isValid: true })
  })

  it.each(CALLS)('our payment for $sold', async ({ path, ...probe }) => {
    const headers = await signFor(seller, seller.url + path, probe)
    const payload = decodePaymentSignatureHeader(headers['payment-signature']!)
    expect(parsePaymentPayload(payload)).toMatchObject({ success: true })
    expect(PaymentPayloadV2Schema.parse(payload)).toEqual(payload)
    expect(payload.accepted).toEqual(quoteIn(await ask(seller.url + path, probe)).accepts[0])
  })

  it.each(CALLS)('our receipt for $sold', async ({ path, ...call }) => {
    const paid = await pay(seller, seller.url + path, call)
    const receipt = receiptIn(paid)
    expect([paid.status, await statusIn(paid)]).toEqual([200, 'settled'])
    expect(sandbox.transactions().at(-1)!.txId).toBe(receipt.transaction)
    expect(receipt).toMatchObject({ success: true, network: SHORT_ID, payer: sandbox.wallet.address })
  })
})

describe('the official facilitator client reads the sandbox', () => {
  const official = () => new HTTPFacilitatorClient({ url: sandbox.facilitatorUrl })
  const signed = async () => {
    const headers = await signFor(seller, `${seller.url}/bare`, { method: 'GET' })
    const payload = decodePaymentSignatureHeader(headers['payment-signature']!) as PaymentPayload
    return [payload, payload.accepted as PaymentRequirements] as const
  }

  it('/supported, with both ids of the network', async () => {
    const { kinds, signers } = await official().getSupported()
    const kind = { x402Version: 2, scheme: 'exact', extra: { feePayer: sandbox.feePayer } }
    expect(kinds).toEqual([SHORT_ID, LONG_ID].map(network => ({ ...kind, network })))
    expect(signers).toEqual({ 'algorand:*': [sandbox.feePayer] })
  })

  it.each([SHORT_ID, LONG_ID])('/verify and /settle, asked about %s', async network => {
    const [payload, requirements] = await signed()
    const asked = { ...requirements, network }
    const payer = sandbox.wallet.address
    expect(await official().verify(payload, asked)).toMatchObject({ isValid: true, payer })
    const settled = await official().settle(payload, asked)
    expect(settled).toMatchObject({ success: true, network, payer })
    expect(sandbox.transactions().at(-1)!.txId).toBe(settled.transaction)

    expect(await official().verify(payload, asked)).toMatchObject({
      isValid: false,
      invalidReason: 'invalid_exact_avm_simulation_failed',
      invalidMessage: expect.stringContaining('already in ledger'),
    })
    expect(await official().settle(payload, asked)).toMatchObject({
      success: false,
      network,
      transaction: '',
      errorReason: 'invalid_exact_avm_simulation_failed',
    })
  })
})
