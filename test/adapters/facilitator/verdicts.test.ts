import { expect, test } from 'vitest'
import {
  answerOf,
  settlementOf,
  verificationOf,
} from '../../../src/adapters/facilitator/verdict-of-response.js'
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
  [200, { isValid: false, invalidReason: '\n short ' }, { verdict: 'refused', reason: 'short' }],
  // A list is no text, whatever stands in it.
  [
    200,
    { isValid: false, invalidReason: ['already settled'] },
    { verdict: 'refused', reason: 'no reason given' },
  ],
  [400, { isValid: true }, { verdict: 'unreachable', cause: 'status 400 without a verdict', down: false }],
])('verify %i %j', (status, body, verification) => {
  expect(verificationOf({ status, body })).toEqual(verification)
})

const no = (more: object = {}) => ({
  success: false,
  transaction: '',
  errorReason: 'insufficient_funds',
  ...more,
})

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
  [200, no(), { verdict: 'refused', reason: 'insufficient_funds' }],
  [402, no({ errorMessage: 'y' }), { verdict: 'refused', reason: 'insufficient_funds: y' }],
  [200, { success: false, errorReason: 'invalid_scheme' }, { verdict: 'refused', reason: 'invalid_scheme' }],
  [200, no({ transaction: null, txId: null }), { verdict: 'refused', reason: 'insufficient_funds' }],
  [499, no(), { verdict: 'refused', reason: 'insufficient_funds' }],
])('settle %i %j', (status, body, settlement) => {
  expect(settlementOf({ status, body })).toEqual(settlement)
})

test.each([201, 204, 302, 399, 500, 503])(
  'status %i is no answer to the question, whatever its body says',
  status => {
    const cause = `status ${status} without a verdict`
    const unreachable = { verdict: 'unreachable', cause, down: false }
    expect(verificationOf({ status, body: { isValid: false } })).toEqual(unreachable)
    expect(settlementOf({ status, body: no() })).toEqual({ verdict: 'unknown', cause })
  },
)

test.each([undefined, null, 'false', 0])(
  'success %j is no verdict, whatever reason comes with it',
  success => {
    const cause = 'status 200 without a verdict'
    expect(settlementOf({ status: 200, body: no({ success }) })).toEqual({ verdict: 'unknown', cause })
  },
)

const YES = '{"isValid":true,"success":true}'
const silent = { spoke: false, isDown: true }
const garbled = { spoke: true, isDown: true }
const ofRequest = { spoke: true, isDown: false }

test.each([
  ...[300, 301, 304, 399, 500, 502, 503, 599].map(status => ({ status, text: YES, ...silent })),
  ...[408, 429].map(status => ({ status, text: YES, ...ofRequest })),
  ...['', 'null', '[true]', '"yes"', YES.slice(1), `${YES}${YES}`].flatMap(text => [
    { status: 200, text, ...garbled },
    { status: 299, text, ...garbled },
    { status: 400, text, ...ofRequest },
    { status: 499, text, ...ofRequest },
  ]),
])('status $status with $text is an outage: no verdict, and a word on who is down', reply => {
  const { status, text, spoke, isDown } = reply
  const cause = text === YES ? `status ${status}` : `status ${status} without a JSON object`
  const answer = answerOf({ status, text })
  expect(answer).toEqual({ outage: cause, spoke, ...(!isDown && { ofRequest: true }) })
  expect(settlementOf(answer)).toEqual({ verdict: 'unknown', cause })
  expect(verificationOf(answer)).toEqual({ verdict: 'unreachable', cause, down: isDown })
})

test.each([200, 299, 400, 407, 409, 428, 430, 499])('an object under status %i is read', status => {
  expect(answerOf({ status, text: YES })).toEqual({ status, body: { isValid: true, success: true } })
})

test('a reply that failed is silence of a facilitator that may be down', () => {
  const answer = answerOf({ failed: 'timed out' })
  expect(answer).toEqual({ outage: 'timed out', spoke: false })
  expect(settlementOf(answer)).toEqual({ verdict: 'unknown', cause: 'timed out' })
  expect(verificationOf(answer)).toEqual({ verdict: 'unreachable', cause: 'timed out', down: true })
})

test('a no that proves nothing is quoted to the operator', () => {
  const cause = 'no proof that nothing was submitted: settlement_failed: no round'
  const body = no({ errorReason: 'settlement_failed', errorMessage: 'no round' })
  expect(settlementOf({ status: 200, body })).toEqual({ verdict: 'unknown', cause })
})

test('a reason and its message are read as one text', () => {
  const body = no({ errorReason: 'already', errorMessage: 'in ledger' })
  expect(settlementOf({ status: 200, body })).toMatchObject({ verdict: 'spent' })
})

test.each([
  no({ errorReason: 'settlement_pending' }),
  no({ errorReason: 'settlement_failed' }),
  no({ errorReason: 'invalid_exact_avm_settlement_failed' }),
  no({ errorReason: 'confirmation_failed' }),
  no({ errorReason: 'invalid_exact_avm_confirmation_failed' }),
  // The protocol's own words for an error, which facilitators send for time-outs too.
  no({ errorReason: 'unexpected_settle_error' }),
  no({ errorReason: 'unexpected_verify_error' }),
  no({ errorReason: 'transaction_timeout' }),
  no({ errorReason: 'network_error' }),
  no({ errorReason: 'internal_error' }),
  no({ errorReason: 'invalid_transaction_state' }),
  no({ errorReason: 'duplicate_settlement' }),
  no({ errorReason: 'invalid_exact_avm_of_a_later_version' }),
  no({ errorReason: 'x' }),
  no({ errorReason: ' insufficient_funds' }),
  // A node says so of landed transactions too, once their last round is over.
  no({
    errorReason: 'invalid_exact_avm_simulation_failed',
    errorMessage: 'txn dead: round 12 outside of 1--11',
  }),
  no({ errorReason: 'invalid_exact_avm_payload', errorMessage: 'Unexpected error: socket hang up' }),
  no({ errorMessage: 'the payer has already a payment under way' }),
  no({ transaction: 'TX' }),
  no({ transaction: ' ' }),
  no({ transaction: 0 }),
  no({ transaction: undefined, txId: 'TX' }),
  no({ errorReason: undefined }),
  no({ errorReason: '' }),
  no({ errorReason: 404 }),
  no({ errorReason: ['insufficient_funds'] }),
])('a no that does not prove that nothing was submitted is unknown: %j', body => {
  expect(settlementOf({ status: 200, body })).toMatchObject({ verdict: 'unknown' })
  expect(settlementOf({ status: 400, body })).toMatchObject({ verdict: 'unknown' })
})

/** The names of `@x402/avm` 2.26 and of the protocol that are given before anything is submitted, and those of our facilitator. */
const BEFORE_SUBMITTING = [
  ...['insufficient_funds', 'invalid_payload', 'invalid_scheme', 'invalid_network'],
  ...['invalid_payment_requirements', 'invalid_x402_version', 'sponsor_budget_exhausted'],
  ...['unsupported_scheme', 'unsupported_network', 'unsupported_payload_type'],
  ...[
    ...['invalid_version', 'scheme', 'network_mismatch', 'payload', 'group_size_exceeded', 'payment_index'],
    ...['invalid_transaction', 'unsigned_non_facilitator', 'invalid_group_id', 'invalid_signature'],
    ...['facilitator_transferring', 'not_asset_transfer', 'payment_not_signed', 'invalid_fee_payer'],
    ...['amount_mismatch', 'receiver_mismatch', 'asset_mismatch', 'fee_too_high', 'simulation_failed'],
    ...['payment_close_to', 'payment_rekey', 'extra_sponsor', 'sponsor_fee', 'not_canonical'],
  ].map(name => `invalid_exact_avm_${name}`),
]

test.each(BEFORE_SUBMITTING)('only the whole name of a reason before submitting refuses: %s', errorReason => {
  for (const status of [200, 400])
    expect(settlementOf({ status, body: no({ errorReason }) })).toEqual({
      verdict: 'refused',
      reason: errorReason,
    })
  for (const other of [`${errorReason}2`, `x_${errorReason}`, errorReason.toUpperCase(), `${errorReason}\n`])
    expect(settlementOf({ status: 200, body: no({ errorReason: other }) })).toMatchObject({
      verdict: 'unknown',
    })
})

test('what is unsupported has to be named', () => {
  const body = no({ errorReason: 'unsupported_' })
  expect(settlementOf({ status: 200, body })).toMatchObject({ verdict: 'unknown' })
})

test.each(['settlement_pending', 'invalid_exact_avm_settlement_failed'])(
  'what the facilitator knows to be submitted before this attempt is spent by another: %s',
  errorReason => {
    const body = { ...no({ errorReason, transaction: 'TX' }), submittedBefore: true }
    expect(settlementOf({ status: 200, body })).toMatchObject({ verdict: 'spent', submittedBefore: true })
    for (const submittedBefore of [false, 'true', 1])
      expect(settlementOf({ status: 200, body: { ...body, submittedBefore } })).toMatchObject({
        verdict: 'unknown',
      })
  },
)

test('a yes is a yes, whatever it says of before', () => {
  const body = { success: true, transaction: 'TX', submittedBefore: true }
  expect(settlementOf({ status: 200, body })).toMatchObject({ verdict: 'settled' })
})

test.each([
  'transaction already in ledger: TX',
  'already_in_ledger',
  'ALREADY-IN-LEDGER',
  'alreadyInLedger',
  'TransactionPool.Remember: Transaction Already  in the Ledger: TX',
  ...['settled', 'spent', 'submitted', 'processed', 'confirmed', 'used'].flatMap(end => [
    `payment already ${end}`,
    `payment has already been ${end}`,
  ]),
  ...['already on chain', 'already part of the ledger', 'already in the block'],
  `${'-'.repeat(5_000)} already in ledger`,
])('a payment that is in the ledger is spent, however it is said: %s', said => {
  for (const status of [200, 400]) {
    for (const errorReason of ['invalid_exact_avm_simulation_failed', 'settlement_failed', said]) {
      const settle = no({ errorReason, errorMessage: said, transaction: 'TX' })
      expect(settlementOf({ status, body: settle })).toMatchObject({ verdict: 'spent' })
    }
    const verify = {
      isValid: false,
      invalidReason: 'invalid_exact_avm_simulation_failed',
      invalidMessage: said,
    }
    expect(verificationOf({ status, body: verify })).toMatchObject({ verdict: 'spent' })
  }
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
