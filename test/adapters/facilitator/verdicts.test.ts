import { expect, test } from 'vitest'
import { settlementOf, verificationOf } from '../../../src/adapters/facilitator/verdicts.js'
import { json } from '../../support/fake-facilitator.js'
import { newPayment, REQUIREMENTS, start, VECTORS } from './setup.js'

test.each([
  [200, { isValid: true }, { verdict: 'valid' }],
  [200, { isValid: true, payer: 'P', invalidReason: null }, { verdict: 'valid', payer: 'P' }],
  [200, { isValid: true, payer: 5 }, { verdict: 'valid' }],
  [200, { isValid: false, invalidReason: 'short' }, { verdict: 'refused', reason: 'short' }],
  [400, { isValid: false, invalidReason: 'short' }, { verdict: 'refused', reason: 'short' }],
  [402, { isValid: false, invalidReason: 'a', invalidMessage: 'b' }, { verdict: 'refused', reason: 'a: b' }],
  [200, { isValid: false, invalidReason: 7 }, { verdict: 'refused', reason: 'no reason given' }],
  [400, { isValid: true }, { verdict: 'unreachable', cause: 'status 400 without a verdict', down: false }],
])('verify %i %j', (status, body, verification) => {
  expect(verificationOf({ status, body })).toEqual(verification)
})

const no = (more: object = {}) => ({ success: false, transaction: '', errorReason: 'x', ...more })

test.each([
  [200, { success: true, transaction: 'T' }, { verdict: 'settled', txId: 'T' }],
  [200, { success: true, txId: 'T' }, { verdict: 'settled', txId: 'T' }],
  [200, { success: true, transaction: '', txId: 'T' }, { verdict: 'settled', txId: 'T' }],
  [200, { success: true, transaction: 'A', txId: 'B' }, { verdict: 'settled', txId: 'A' }],
  [200, { success: true }, { verdict: 'settled' }],
  [200, { success: true, transaction: 5, network: null, payer: [] }, { verdict: 'settled' }],
  [
    200,
    { success: true, transaction: 'T', network: 'N', payer: 'P' },
    { verdict: 'settled', txId: 'T', network: 'N', payer: 'P' },
  ],
  [200, no(), { verdict: 'refused', reason: 'x' }],
  [402, no({ errorMessage: 'y' }), { verdict: 'refused', reason: 'x: y' }],
  [200, { success: false, errorReason: 'x' }, { verdict: 'refused', reason: 'x' }],
])('settle %i %j', (status, body, settlement) => {
  expect(settlementOf({ status, body })).toEqual(settlement)
})

test.each([
  no({ errorReason: 'settlement_pending' }),
  no({ errorReason: 'settlement_failed' }),
  no({ errorReason: 'invalid_exact_avm_settlement_failed' }),
  no({ errorReason: 'confirmation_failed' }),
  no({ errorReason: 'invalid_exact_avm_confirmation_failed' }),
  no({ errorReason: 'transaction already in ledger: TX' }),
  no({ errorReason: 'already_in_ledger' }),
  no({ errorMessage: 'TransactionPool.Remember: Transaction Already in Ledger: TX' }),
  no({ errorMessage: `${'-'.repeat(5_000)} already in ledger` }),
  no({ transaction: 'TX' }),
  no({ transaction: ' ' }),
  no({ transaction: 0 }),
  no({ transaction: undefined, txId: 'TX' }),
  no({ errorReason: undefined }),
  no({ errorReason: '' }),
  no({ errorReason: 404 }),
])('a no that does not prove that nothing was submitted is unknown: %j', body => {
  expect(settlementOf({ status: 200, body })).toMatchObject({ verdict: 'unknown' })
  expect(settlementOf({ status: 400, body })).toMatchObject({ verdict: 'unknown' })
})

test('a reason is one short line of printable text', () => {
  const reason = `a\r\nSet-Cookie: x\u0000\u202e\u{1f4a9}<script>${'y'.repeat(100_000)}`
  const verification = verificationOf({ status: 200, body: { isValid: false, invalidReason: reason } })
  expect(verification).toMatchObject({ reason: expect.stringMatching(/^a Set-Cookie: x <script>y+$/) })
  expect((verification as { reason: string }).reason.length).toBeLessThanOrEqual(300)
})

test.each(VECTORS)('the official facilitator is understood: $name', async ({ verify, settle }) => {
  const { facilitator } = await start({ '/verify': json(verify), '/settle': json(settle) })
  const { payer, network, transaction } = settle
  expect(await facilitator.verify(newPayment(), REQUIREMENTS)).toEqual({ verdict: 'valid', payer })
  expect(await facilitator.settle(newPayment(), REQUIREMENTS)).toEqual({
    verdict: 'settled',
    txId: transaction,
    network,
    payer,
  })
})
