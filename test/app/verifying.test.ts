/** Verifying, by itself: whose word counts, and how long a handler may take so that its payment can still land. */
import { describe, expect, it } from 'vitest'
import type { Call } from '../../src/app/charge/call-at-work.js'
import type { ChargeDeps } from '../../src/app/charge/charge-deps.js'
import { verify } from '../../src/app/charge/effects/verify.js'
import type { Verification } from '../../src/ports/facilitator.js'
import { fieldsOf } from '../support/call-fields.js'
import { type Given, oneCall, START_MS } from '../support/one-call.js'

const LAST_VALID = 200n
const VALID: Verification = { verdict: 'valid', payer: 'PAYER' }

interface Case extends Given {
  readonly says?: Verification
  readonly roundsLeft?: bigint
  readonly hasLanded?: boolean
}

async function verified({ says = VALID, roundsLeft, hasLanded, ...given }: Case, isBearer?: 'unlanded') {
  const seen = { verified: [] as unknown[][], landedAsked: 0 }
  const world = {
    facilitator: {
      verify: async (...asked: unknown[]) => {
        seen.verified.push(asked)
        return says
      },
    },
    chain: {
      round: async () => (roundsLeft === undefined ? undefined : LAST_VALID - roundsLeft),
      hasLanded: async () => {
        seen.landedAsked++
        return hasLanded
      },
    },
  } as unknown as Partial<ChargeDeps>
  const requirements = { amount: '10000' } as never
  const { call, ended } = oneCall({ ...given, world, call: { requirements } })
  call.holds.owned = { isBearer } as Call['holds']['owned']
  return { answer: (await ended(verify)).answer, call, ...seen }
}

describe('a payment', () => {
  it('is asked about with our requirements, and names its payer where we cannot', async () => {
    const unreadable = await verified({ paid: 'unreadable' })
    expect(unreadable).toMatchObject({
      answer: 'verified',
      call: { payment: { payer: 'PAYER' }, end: { refusal: undefined } },
    })
    expect(unreadable.verified).toEqual([
      [unreadable.call.payment.payload, unreadable.call.terms.requirements, undefined],
    ])
    const sponsored = await verified({ paid: { sponsor: 'SPONSOR' } })
    expect(sponsored.verified).toEqual([
      [sponsored.call.payment.payload, sponsored.call.terms.requirements, 'SPONSOR'],
    ])
    const named = await verified({ paid: {}, says: { verdict: 'valid', payer: 'ANOTHER' } })
    expect(named.call.payment.payer).toBe('PAYER')
  })

  it.each<[string, Case, string, string | undefined]>([
    ['is refused', { paid: {}, says: { verdict: 'refused', reason: 'no funds' } }, 'refused', 'no funds'],
    ['is in the ledger', { paid: {}, says: { verdict: 'spent', reason: 'landed' } }, 'spent', undefined],
    [
      'is in the ledger, says the facilitator alone,',
      { paid: 'unreadable', says: { verdict: 'spent', reason: 'landed' } },
      'refused',
      'landed',
    ],
  ])('that %s is answered %s', async (_, given, answer, refusal) => {
    const { call, ...rest } = await verified(given)
    expect(rest.answer).toBe(answer)
    expect(call.end.refusal).toBe(refusal)
    expect(call.end.retryAfterMs).toBeUndefined()
  })

  const NO_FUNDS: Verification = { verdict: 'refused', reason: 'no funds' }

  it('that its key had looked up costs the node no second question', async () => {
    const { answer, landedAsked } = await verified({ paid: {}, says: NO_FUNDS, hasLanded: true }, 'unlanded')
    expect([answer, landedAsked]).toEqual(['refused', 0])
  })

  // A store that forgot it, and a payer that has spent the rest since, or a sponsor that is quoted no more.
  it.each<[string, Case, string, number]>([
    ['landed', { hasLanded: true }, 'spent', 1],
    ['did not land', { hasLanded: false }, 'refused', 1],
    ['may have landed, which the node does not say', {}, 'refused', 1],
    ['a stranger presents', { hasLanded: true, paid: { proven: () => false } }, 'refused', 0],
    ['nobody can read', { hasLanded: true, paid: 'unreadable' }, 'refused', 0],
  ])(
    'that is refused, and that %s, is looked up before anything is quoted',
    async (_, given, answer, asked) => {
      const { call, ...seen } = await verified({ paid: {}, says: NO_FUNDS, ...given })
      expect([seen.answer, seen.landedAsked]).toEqual([answer, asked])
      expect(call.end.refusal).toBe(answer === 'spent' ? undefined : 'no funds')
    },
  )

  it('is neither good nor bad while the facilitator does not answer', async () => {
    const { answer, call } = await verified({ paid: {}, says: { verdict: 'unreachable', cause: 'down' } })
    expect(answer).toBe('unreachable')
    expect(call.end.refusal).toBeUndefined()
  })
})

describe('the time for the handler', () => {
  /** Of n rounds three are kept free and a second more; each of the others counts 2.5 s. */
  it.each<[string, Case, number, number]>([
    ['ends before the payment does', { paid: {}, roundsLeft: 8n }, 11_500, 12_500],
    ['ends before the payment does, however soon', { paid: {}, roundsLeft: 4n }, 1_500, 2_500],
    ['is what its endpoint grants', { paid: {}, roundsLeft: 100n }, 30_000, 242_500],
    ['is bounded by no round that is not known', { paid: {} }, 30_000, Number.POSITIVE_INFINITY],
    [
      'is bounded by no payment that cannot be read',
      { paid: 'unreadable', roundsLeft: 4n },
      30_000,
      Number.POSITIVE_INFINITY,
    ],
  ])('%s', async (_, given, handlerMs, settleAfterMs) => {
    const { answer, call } = await verified(given)
    expect(answer).toBe('verified')
    expect(fieldsOf(call)).toMatchObject({ handlerMs, settleByMs: START_MS + settleAfterMs })
  })

  it.each<[string, Case, string, number]>([
    ['is refused before the facilitator hears of it', { hasLanded: false }, 'expiring', 1],
    ['is refused where the node does not say that it landed', {}, 'expiring', 1],
    ['is spent where it landed', { hasLanded: true }, 'spent', 1],
    ['is not looked up for a stranger', { hasLanded: true, paid: { proven: () => false } }, 'expiring', 0],
  ])('is too short where a payment is about to expire: it %s', async (_, given, answer, landedAsked) => {
    for (const roundsLeft of [3n, -50n]) {
      const { call, ...seen } = await verified({ paid: {}, roundsLeft, ...given })
      expect(seen).toEqual({ answer, landedAsked, verified: [] })
      expect(call.end.refusal === undefined).toBe(answer === 'spent')
    }
  })
})
