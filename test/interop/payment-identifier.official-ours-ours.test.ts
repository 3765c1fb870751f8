/** The official client pays with the official extension `payment-identifier`; our server keeps its promises by that id. */
import { toClientAvmSigner } from '@x402/avm'
import { ExactAvmScheme } from '@x402/avm/exact/client'
import { x402Client, x402HTTPClient } from '@x402/core/client'
import {
  appendPaymentIdentifierToExtensions,
  extractPaymentIdentifier,
  generatePaymentId,
  isPaymentIdentifierRequired,
  PAYMENT_IDENTIFIER,
} from '@x402/extensions/payment-identifier'
import { describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { onePayment, quoteIn, receiptIn, secretKeyOf, watchLedger } from '../support/official.js'
import { ask, open } from '../support/seller.js'

describe('the official client with an id', () => {
  it('is charged once for two payments under one id, and asked for an id where it sends none', async () => {
    let runs = 0
    const echo = defineEndpoint({
      name: 'echo',
      price: '$0.01',
      handler: ({ body }) => ({ run: ++runs, body }),
    })
    const seller = await open([echo], { idempotency: { onLostResponse: 'replay', required: true } })
    const { sandbox } = seller
    const scheme = new ExactAvmScheme(toClientAvmSigner(secretKeyOf(sandbox.wallet)), {
      algodUrl: sandbox.algodUrl,
    })
    const client = new x402Client().register('algorand:*', scheme)
    const http = new x402HTTPClient(client)
    const moved = watchLedger(sandbox, sandbox.wallet.address)
    const body = { text: 'hello' }

    const pay = async (id?: string) => {
      const required = quoteIn(await ask(`${seller.url}/echo`, { body }))
      const extensions = { ...required.extensions }
      expect(isPaymentIdentifierRequired(extensions[PAYMENT_IDENTIFIER])).toBe(true)
      if (id !== undefined) appendPaymentIdentifierToExtensions(extensions, id)
      const payload = await client.createPaymentPayload({ ...required, extensions })
      expect(extractPaymentIdentifier(payload)).toBe(id ?? null)
      return ask(`${seller.url}/echo`, { body, headers: http.encodePaymentSignatureHeader(payload) })
    }

    const refused = await pay()
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { code: 'idempotency_key_required' } },
    ])
    const id = generatePaymentId()
    const first = await pay(id)
    expect([first.status, await first.json()]).toEqual([200, { run: 1, body }])
    const again = await pay(id)
    expect([again.status, await again.json()]).toEqual([200, { run: 1, body }])
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(receiptIn(again).transaction).toBe(receiptIn(first).transaction)
    expect(moved()).toEqual(onePayment(10_000n, receiptIn(first).transaction))
  })
})
