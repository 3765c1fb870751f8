/** What a call's door is told: no answer that was not paid for, no quote that would be paid twice. */
import { describe, expect, it } from 'vitest'
import { MESSAGES, outcomeOf, takenOver } from '../../src/app/charge/call-outcome.js'
import { type ChargeFinal, OUTCOMES } from '../../src/domain/machines/charge.machine.js'
import { CAIP2, TESTNET } from '../../src/domain/network.js'
import type { CallFields } from '../support/call-fields.js'
import { REQUIREMENTS, RESPELT } from '../support/charge-fixture.js'
import { ANSWER, FINALS, full, KEPT, REPLAYED, WINDOW, walked } from '../support/ended-call.js'
import { TESTNET_USDC } from '../support/one-call.js'

const CHARGED = ['settled', 'replayed', 'answerNotKept']
const DELIVERED = ['settled', 'served', 'counted', 'failed']
const TX_NAMED = ['paymentSpent', 'paymentInUse', 'superseded', 'answerNotKept', 'inDoubt', 'undecided']
const QUOTING = ['quoted', 'refused', 'unsettled']

function told(final: ChargeFinal, call: CallFields = {}) {
  const it = full(call)
  return outcomeOf(it.world, it.call, walked(final))
}

describe('what a caller is given', () => {
  it.each(FINALS)('%s: an answer only where it may leave, and else why there is none', final => {
    const { answer, problem, ...rest } = told(final)
    const given = DELIVERED.includes(final) ? ANSWER : final === 'replayed' ? KEPT : undefined
    expect(answer).toBe(given)
    expect(problem === undefined).toBe(given !== undefined)
    expect(rest).toMatchObject({
      final,
      path: ['received.admitted'],
      traceId: '0123456789ab4cde8f0123456789abcd',
      spanId: '8f0123456789abcd',
    })
  })

  it.each(['settled', 'served', 'failed', 'replayed'] as const)(
    '%s without an answer says so in words',
    final => {
      const { answer, problem } = told(final, {
        answer: undefined,
        replayed: { ...REPLAYED, answer: undefined },
      })
      expect(answer).toBeUndefined()
      expect(problem?.message).toBe(MESSAGES[final])
    },
  )

  it.each(FINALS)('%s: the key of a window only where it was paid for', final => {
    const keys = { settled: WINDOW, replayed: REPLAYED.window, answerNotKept: REPLAYED.window }
    expect(told(final).subscription).toEqual((keys as Record<string, unknown>)[final])
  })
})

describe('the calls that are left', () => {
  const window = { key: 'svc_earlier', expiresAtMs: 4 }

  it.each<[string, ChargeFinal, CallFields, number | undefined]>([
    ['of the window that was sold', 'settled', { sold: { ...WINDOW, callsLeft: 4 } }, 4],
    ['of none, where time alone ends the one that was sold', 'settled', {}, undefined],
    ['of none, where a call was sold', 'settled', { sold: undefined }, undefined],
    [
      'of the window that the earlier call bought',
      'replayed',
      { replayed: { ...REPLAYED, window: { ...window, callsLeft: 0 }, callsLeft: 3 } },
      0,
    ],
    [
      'of the window that covered the earlier call',
      'replayed',
      { replayed: { ...REPLAYED, window: undefined, callsLeft: 3 } },
      3,
    ],
    ['of the window whose key the caller sent', 'served', {}, 9],
    ['of the window whose key the caller sent, where nothing was sold', 'quoted', {}, 9],
  ])('are those %s', (_, final, call, left) => {
    expect(told(final, { callsLeft: 9, ...call }).callsLeft).toBe(left)
  })
})

describe('a receipt', () => {
  it.each(FINALS)('%s: is written for a charge, and for an attempt that failed', final => {
    expect(told(final).receipt !== undefined).toBe([...CHARGED, 'unsettled'].includes(final))
  })

  it('of a charge names its payment', () => {
    expect(told('settled').receipt).toEqual({
      success: true,
      transaction: 'TX',
      txId: 'TX',
      network: CAIP2.testnet,
      payer: 'PAYER',
      amount: '10000',
      asset: TESTNET_USDC,
    })
    expect(told('settled', { txId: undefined }).receipt).toMatchObject({ transaction: '', txId: '' })
  })

  it('of a replay names the payment of the earlier call', () => {
    expect(told('replayed').receipt).toEqual({
      success: true,
      transaction: 'EARLIER',
      txId: 'EARLIER',
      network: CAIP2.testnet,
      payer: 'EARLIER PAYER',
      amount: '7',
      asset: TESTNET_USDC,
    })
  })

  it('spells the network as its payment did', () => {
    const network = TESTNET.wholeHashId
    for (const final of ['settled', 'unsettled'] as const)
      expect(told(final, { requirements: RESPELT }).receipt).toMatchObject({ network })
    const replayed = told('replayed', { replayed: { ...REPLAYED, network } })
    expect(replayed.receipt).toMatchObject({ network })
    const paidOtherwise = told('replayed', { requirements: RESPELT })
    expect(paidOtherwise.receipt).toMatchObject({ network: CAIP2.testnet })
  })

  it('of an answer that a window covered is not written', () => {
    expect(told('replayed', { replayed: { ...REPLAYED, amount: '0' } }).receipt).toBeUndefined()
  })

  it('of an attempt that failed is never one of success, whoever forgot to say why', () => {
    expect(told('unsettled').receipt).toMatchObject({ success: false, errorReason: MESSAGES.unsettled })
  })

  it('of an attempt that failed says why, and names no transaction', () => {
    expect(told('unsettled', { refusal: 'no funds' }).receipt).toEqual({
      success: false,
      errorReason: 'no funds',
      transaction: '',
      txId: '',
      network: CAIP2.testnet,
      payer: 'PAYER',
      amount: '10000',
      asset: TESTNET_USDC,
    })
  })
})

describe('a quote', () => {
  it.each(FINALS)('%s: is given only by those that say 402', final => {
    expect(told(final).challenge?.required.accepts).toEqual(
      QUOTING.includes(final) ? [REQUIREMENTS, RESPELT] : undefined,
    )
  })

  it('is the same after a payment in either spelling', () => {
    expect(told('refused', { requirements: RESPELT }).challenge).toEqual(told('refused').challenge)
  })

  it('says why, and is not given where no price was worked out', () => {
    expect(told('refused', { refusal: 'too little' }).challenge?.required).toMatchObject({
      error: 'too little',
      resource: { url: 'http://agent.test/work' },
    })
    expect(told('quoted').challenge?.required.error).toBe(MESSAGES.unsettled)
    expect(told('refused', { requirements: undefined }).challenge).toBeUndefined()
  })
})

describe('a problem', () => {
  it.each(FINALS)('%s: names the transaction only where it may have been charged', final => {
    const { problem } = told(final, { answer: undefined, replayed: { ...REPLAYED, answer: undefined } })
    const txId = final === 'answerNotKept' ? 'EARLIER' : 'TX'
    expect(problem).toStrictEqual({
      message: MESSAGES[final],
      fields: TX_NAMED.includes(final) ? { txId } : {},
    })
  })

  it('names no transaction that is not known', () => {
    expect(told('inDoubt', { txId: undefined }).problem?.fields).toStrictEqual({})
  })

  it('says the words of the effect that knew better', () => {
    const problem = { message: 'by the effect', status: 418, code: 'tea', fields: { field: 'a' } }
    const logs = [{ atMs: 5, message: 'poured' }]
    expect(told('invalid', { problem, refusal: 'refused', logs }).problem).toStrictEqual({
      ...problem,
      fields: { field: 'a', logs },
    })
  })

  it.each(FINALS)('%s: says why the payment was refused only where it was', final => {
    const refusal = 'The payment was not settled; you were not charged'
    const { problem } = told(final, {
      answer: undefined,
      replayed: { ...REPLAYED, answer: undefined },
      refusal,
    })
    expect(problem?.message).toBe(QUOTING.includes(final) ? refusal : MESSAGES[final])
  })
})

describe('when to come back', () => {
  it.each(FINALS)('%s: is said by every 503, and by no other on its own', final => {
    expect(told(final).retryAfterMs).toBe(OUTCOMES[final].status === 503 ? 5_000 : undefined)
  })

  it('is what the call knows better, and never earlier than now', () => {
    expect(told('inDoubt', { retryAfterMs: 1 }).retryAfterMs).toBe(1)
    expect(told('limited', { retryAfterMs: 7 }).retryAfterMs).toBe(7)
    expect(told('inProgress', { retryAfterMs: -7 }).retryAfterMs).toBe(0)
  })
})

describe('a call that another one took over', () => {
  it('says nothing about a charge, and quotes nothing', () => {
    const { world, call } = full({
      problem: { message: 'not charged', code: 'of_the_handler', status: 418 },
      refusal: 'not charged',
      retryAfterMs: 9,
    })
    expect(takenOver(world, call, walked('unsettled'))).toEqual({
      ...outcomeOf(world, call, walked('superseded')),
      final: 'superseded',
      problem: { message: MESSAGES.superseded, fields: { txId: 'TX' } },
      challenge: undefined,
      receipt: undefined,
      subscription: undefined,
      retryAfterMs: 2_000,
    })
  })
})
