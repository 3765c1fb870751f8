/** The record of an ended call that observers get: who was charged what, once, and what the caller got. */
import { describe, expect, it } from 'vitest'
import { endedCall, outcomeOf, takenOver } from '../../src/app/charge/call-outcome.js'
import { balanceId, ownerOf, windowId } from '../../src/app/charge/names-in-stores.js'
import type { ChargeFinal } from '../../src/domain/machines/charge.machine.js'
import { TESTNET } from '../../src/domain/network.js'
import type { CallFields } from '../support/call-fields.js'
import { UUID } from '../support/charge-fixture.js'
import { ANSWER, FINALS, full, REPLAYED, WINDOW, walked } from '../support/ended-call.js'
import { SELLER, START_MS, TESTNET_USDC } from '../support/one-call.js'

describe('an observer of calls is told', () => {
  function ended(final: ChargeFinal, call: CallFields = {}, path?: readonly string[], keepsMessages = false) {
    const it = full(call, { rules: { keepsMessages } })
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

  it('of a balance that was sold: its public name and its units, once', () => {
    const units = { balance: balanceId(ownerOf(TESTNET, SELLER, 'agent'), 'svc_units'), sold: 10_000 }
    const sold = { ...WINDOW, key: 'svc_units', units: 10_000 }
    expect(ended('settled', { sold })).toMatchObject({ units, window: undefined, windowEndsMs: 5 })
    const replayed = { ...REPLAYED, window: { ...REPLAYED.window!, key: 'svc_units', units: 10_000 } }
    expect(ended('replayed', { replayed }, ['recovering.found'])).toMatchObject({ units, window: undefined })
    expect(ended('replayed', { replayed })).not.toHaveProperty('units')
  })

  it('of no window and no balance where a call alone was sold', () => {
    const { window, ...rest } = ended('settled', { sold: undefined })
    expect(window).toBeUndefined()
    expect(rest).not.toHaveProperty('units')
    expect(rest).not.toHaveProperty('windowEndsMs')
  })

  describe('of a failure, where the seller keeps messages:', () => {
    const kept = (final: ChargeFinal, call: CallFields) => {
      const { error, logs, ...rest } = ended(final, call, undefined, true)
      expect(rest).toEqual(ended(final, call))
      return { error, logs }
    }

    it('what the handler threw, else what the caller was told', () => {
      const problem = { message: 'told' }
      expect(kept('failed', { answer: undefined, problem, thrown: 'thrown' }).error).toBe('thrown')
      expect(kept('failed', { answer: undefined, problem }).error).toBe('told')
      expect(kept('failed', {}).error).toBeUndefined()
      expect(kept('settled', {}).error).toBeUndefined()
    })

    it('nothing of a quote, which is none', () => {
      expect(kept('quoted', { refusal: 'pay' }).error).toBeUndefined()
    })

    it('no more than 4,000 characters', () => {
      expect(kept('failed', { thrown: 'x'.repeat(4_001) }).error).toBe('x'.repeat(4_000))
    })

    it('what the handler logged, if anything', () => {
      const logs = [{ atMs: 5, message: 'poured' }]
      expect(kept('settled', { logs }).logs).toEqual(logs)
      expect(ended('settled', {}, undefined, true)).not.toHaveProperty('logs')
    })
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
