/** The record of an ended call that observers get: who was charged what, once, and what the caller got. */
import { describe, expect, it } from 'vitest'
import { endedCall, outcomeOf, takenOver } from '../../src/app/charge/call-outcome.js'
import { windowId } from '../../src/app/charge/owners.js'
import type { ChargeFinal } from '../../src/domain/machines/charge.machine.js'
import type { CallFields } from '../support/call-fields.js'
import { UUID } from '../support/charge-fixture.js'
import { ANSWER, FINALS, full, REPLAYED, WINDOW, walked } from '../support/ended-call.js'
import { START_MS, TESTNET_USDC } from '../support/one-call.js'

describe('an observer of calls is told', () => {
  function ended(final: ChargeFinal, call: CallFields = {}, path?: readonly string[]) {
    const it = full(call)
    const walk = walked(final, path)
    return endedCall(it.world, it.call, outcomeOf(it.world, it.call, walk), walk)
  }

  it('of a charge: its payment and what it took', () => {
    const it = full(
      { startedMonotonicMs: START_MS - 12.4, mismatch: 'payer' },
      { request: { headers: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` } } },
    )
    const walk = walked('settled')
    expect(endedCall(it.world, it.call, outcomeOf(it.world, it.call, walk), walk)).toEqual({
      id: UUID,
      traceId: 'a'.repeat(32),
      parentSpan: { id: 'b'.repeat(16), sampled: true },
      endpoint: 'work',
      final: 'settled',
      path: ['received.admitted'],
      timingsMs: [1.5],
      status: 201,
      code: 'settled',
      charged: 'yes',
      startedMs: START_MS + 7,
      ms: 12,
      txId: 'TX',
      payer: 'PAYER',
      amount: '10000',
      asset: TESTNET_USDC,
      window: windowId(it.call.endpoint.owner, WINDOW.key),
      windowEndsMs: WINDOW.expiresAtMs,
      mismatch: 'payer',
    })
  })

  it('books a payment by the calls that report it, and by no replay', () => {
    const amounts = FINALS.filter(final => ended(final).amount !== undefined)
    expect(amounts).toEqual(['settled'])
    expect(ended('replayed', {}, ['recovering.found'])).toMatchObject({
      txId: 'EARLIER',
      amount: '7',
      asset: TESTNET_USDC,
    })
    expect(ended('unsettled')).not.toHaveProperty('amount')
    const free = ended('replayed', { replayed: { ...REPLAYED, amount: '0' } }, ['recovering.found'])
    expect([free.amount, free.asset]).toEqual([undefined, undefined])
  })

  it('names who paid for the answer, or else whose call it was', () => {
    expect(ended('replayed')).toMatchObject({ txId: 'EARLIER', payer: 'EARLIER PAYER' })
    // Its receipt names no transaction; the attempt had one all the same.
    expect(ended('unsettled')).toMatchObject({ txId: 'TX', payer: 'PAYER' })
    expect(ended('timedOut')).toMatchObject({ txId: 'TX', payer: 'PAYER' })
  })

  it('says the status and code that the caller got', () => {
    const own = { message: 'm', status: 418, code: 'tea' }
    expect(ended('failed', { answer: { ...ANSWER, status: 404 } })).toMatchObject({
      status: 404,
      code: 'handler_error',
    })
    expect(ended('failed', { answer: undefined, problem: own })).toMatchObject({ status: 418, code: 'tea' })
    expect(ended('timedOut')).toMatchObject({ status: 504, code: 'handler_timeout' })
  })

  it('of a call that was taken over: how it ended by itself, and what its caller was told', () => {
    const { world, call } = full()
    const walk = walked('unsettled')
    expect(endedCall(world, call, takenOver(world, call, walk), walk)).toMatchObject({
      final: 'unsettled',
      status: 409,
      code: 'superseded',
      charged: 'no',
    })
  })
})
