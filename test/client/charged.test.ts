/** What an answer shows about the payment that was sent, and where its receipt differs from what was signed. */
import { describe, expect, it } from 'vitest'
import { chargedBy, contradictions, receiptOf } from '../../src/app/client/charge-evidence.js'
import { type HttpReply, isSuccess } from '../../src/app/client/http-reply.js'
import { CAIP2, TESTNET, USDC_ASSET_ID } from '../../src/domain/network.js'
import { encodeHeader, type PaymentRequirements } from '../../src/domain/x402.js'
import type { SignedPayment } from '../../src/ports/payment-signer.js'
import { failed, OTHERS, OURS, overA2a, replay, reply, signed } from '../support/seller-replies.js'

const PAY_TO = 'R'.repeat(58)
const settled = (status: number, over: object = {}) =>
  reply(status, { 'PAYMENT-RESPONSE': encodeHeader({ success: true, transaction: OURS, ...over }) })

describe('a delivery says of its payment', () => {
  const unnamed = ['payment_spent', 'settlement_unknown', 'payment_in_use', 'answer_not_written']
  const cases: [string, string, HttpReply | undefined, boolean][] = [
    ['maybe', 'without any answer', undefined, true],
    ['yes', '200', reply(200), false],
    ['yes', '299', reply(299), true],
    ['yes', 'an answer that is called no replay', replay(undefined, 'false'), false],
    ['no', 'a replay without a receipt', replay(), false],
    ['no', 'a replay with a receipt of nothing', replay({ success: true }), false],
    ['maybe', 'such a replay after a loss', replay(undefined, 'TRUE'), true],
    ['yes', 'a replay that names it', replay({ txId: OURS }), true],
    ['no', 'a replay that names another', replay({ txId: OTHERS }), true],
    ['maybe', 'a redirect', reply(300), false],
    ['maybe', 'a redirect, as far as they go', reply(399), false],
    ['yes', 'a redirect with a receipt of it', settled(303), false],
    ['yes', 'an error with a receipt of it', settled(500), true],
    ['no', 'an error with a receipt of another', settled(500, { transaction: OTHERS }), false],
    ['no', 'an error with a receipt that it failed', settled(402, { success: false }), false],
    ['no', '400', reply(400), false],
    ['no', '404', failed(404, 'not_found', OURS), false],
    ['maybe', '404 after a loss', failed(404, 'not_found', OURS), true],
    ['no', 'a body without a code', reply(500), false],
    ['maybe', 'payment_spent of it', failed(409, 'payment_spent', OURS), false],
    ['yes', 'answer_not_written of it', failed(500, 'answer_not_written', OURS), false],
    ['yes', 'answer_not_kept of it', failed(409, 'answer_not_kept', OURS), false],
    ['no', 'answer_not_kept of another', failed(409, 'answer_not_kept', OTHERS), false],
    ['maybe', 'settlement_unknown of it', failed(503, 'settlement_unknown', OURS), false],
    ...unnamed.map(
      code =>
        ['maybe', `${code} of another`, failed(409, code, OTHERS), false] as [
          string,
          string,
          HttpReply,
          boolean,
        ],
    ),
  ]
  it.each(cases)('%s: %s', (charged, _, of, everLost) => {
    expect(chargedBy({ reply: of, everLost }, signed, true)).toBe(charged)
    expect(chargedBy({ reply: overA2a(of), everLost }, signed, true)).toBe(charged)
    // Nobody else has used a key that this call made.
    const withNewKey = of && isSuccess(of) ? 'yes' : charged
    expect(chargedBy({ reply: of, everLost }, signed, false)).toBe(withNewKey)
  })

  it('nothing good where it was sent elsewhere, or was no last answer', () => {
    expect(isSuccess({ ...reply(200), location: 'https://other.example/' } as HttpReply)).toBe(false)
    expect(isSuccess(reply(103))).toBe(false)
  })
})

describe('a receipt', () => {
  const read = (value: unknown, header = 'PAYMENT-RESPONSE') =>
    receiptOf(new Headers({ [header]: encodeHeader(value as object) }))
  const full = {
    success: true,
    txId: 'TX',
    amount: '1',
    asset: '2',
    network: 'N',
    payer: 'P',
    payTo: 'R',
    errorReason: 'why',
  }

  it('is read from either header, and either name of the transaction', () => {
    expect(read(full)).toEqual(full)
    expect(read(full, 'X-PAYMENT-RESPONSE')).toEqual(full)
    expect(read({ transaction: 'TX' })?.txId).toBe('TX')
    expect(read({ txId: 'ours', transaction: 'other' })?.txId).toBe('ours')
    expect(receiptOf(new Headers())).toBeUndefined()
  })

  it('says nothing where it says no text', () => {
    const unsaid = Object.fromEntries(Object.keys(full).map(key => [key, undefined]))
    for (const value of ['', 5, null, ['TX']]) {
      const wrong = Object.fromEntries(Object.keys(full).map(key => [key, value]))
      expect(read(wrong)).toEqual(unsaid)
    }
    expect(read({ success: 'true' })?.success).toBeUndefined()
    expect(read({ success: false })?.success).toBe(false)
  })

  const accepted = {
    network: CAIP2.testnet,
    asset: String(USDC_ASSET_ID.testnet),
    amount: '10000',
    payTo: PAY_TO,
  } as PaymentRequirements
  const paid = { txId: 'TX' } as SignedPayment
  const honest = {
    success: true,
    txId: 'TX',
    amount: '10000',
    asset: String(USDC_ASSET_ID.testnet),
    network: `algorand:${TESTNET.genesisHash}`,
    payer: 'P',
    payTo: PAY_TO,
  }
  const said = (changes: object) => contradictions({ ...honest, ...changes }, accepted, paid, 'P', TESTNET)

  it('that says what was signed, or less, contradicts nothing', () => {
    expect(said({})).toEqual([])
    expect(contradictions({}, accepted, paid, 'P', TESTNET)).toEqual([])
  })

  it.each([
    [{ txId: 'OTHER' }, 'transaction OTHER instead of TX'],
    [{ amount: '10001' }, 'amount 10001 instead of 10000'],
    [{ asset: '5' }, `asset 5 instead of ${USDC_ASSET_ID.testnet}`],
    [{ payer: 'Q' }, 'payer Q instead of P'],
    [{ payTo: 'R' }, `receiver R instead of ${PAY_TO}`],
    [{ network: CAIP2.mainnet }, `network ${CAIP2.mainnet} instead of ${CAIP2.testnet}`],
    [{ network: 'elsewhere' }, `network elsewhere instead of ${CAIP2.testnet}`],
    [{ success: false }, 'no success'],
  ])('that says %j is told by it', (changes, phrase) => {
    expect(said(changes)).toEqual([phrase])
  })

  it('is told by all that it says otherwise', () => {
    expect(said({ txId: 'OTHER', success: false })).toEqual(['transaction OTHER instead of TX', 'no success'])
  })
})
