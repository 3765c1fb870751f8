/** What a caller is told who does not get the key and the payment that it asked for: what is in use, spent, kept or unknown. */
import { describe, expect, it } from 'vitest'
import { seal } from '../../src/app/charge/claim-name-and-seal.js'
import { CAIP2, TESTNET } from '../../src/domain/network.js'
import { systemRandom } from '../../src/ports/random.js'
import { START_MS } from '../support/one-call.js'
import { claimOf, type Opening, opened } from '../support/opened-call.js'

const KEY = 'a key of more than sixteen characters'
const SHORT_KEY = 'x'.repeat(15)

describe('a key that can be guessed', () => {
  const short: Opening = { key: SHORT_KEY, paid: {}, round: 150n }

  it.each<[string, Opening, string, boolean]>([
    ['opens nothing for a payment that landed', { ...short, hasLanded: true }, 'spent', false],
    ['is taken with a payment that has not landed', { ...short, hasLanded: false }, 'opened', true],
    ['is refused while the node does not say', { ...short }, 'storeDown', false],
    ['of sixteen characters is none', { ...short, key: `${SHORT_KEY}x`, hasLanded: true }, 'opened', true],
    ['is none where keys do not count', { ...short, rules: { idempotency: undefined } }, 'opened', true],
    ['is taken with a payment that nothing can be read in', { ...short, paid: 'unreadable' }, 'opened', true],
  ])('%s', async (_, given, answer, isAsked) => {
    const { moves, ...rest } = await opened(given)
    expect(rest.answer).toBe(answer)
    expect(moves).toHaveLength(isAsked ? 1 : 0)
  })

  it('says when to try again where the node does not', async () => {
    const { call } = await opened(short)
    expect(call).toMatchObject({ retryAfterMs: 2_000, problem: { code: 'node_unavailable' } })
    expect(call.problem!.message).toContain('16')
  })

  it('opens nothing for a payment that can land no more, and the node is not asked about it', async () => {
    const over = await opened({ ...short, round: 201n, hasLanded: false })
    expect(over).toMatchObject({ answer: 'spent', moves: [], landedAsked: [] })
    expect(over.call.problem!.message).toContain('can no longer land')
    expect(over.call.problem!.code).toBeUndefined()
    // In its last round it still can; where no round is known, only the node knows.
    for (const round of [200n, undefined]) {
      const { answer, landedAsked } = await opened({ ...short, round, hasLanded: false })
      expect({ answer, landedAsked }).toEqual({ answer: 'opened', landedAsked: ['TX'] })
    }
  })
})

describe('a call that does not get what it asked for', () => {
  const keyed: Opening = { key: KEY, paid: {} }
  const unkeyed: Opening = { paid: {} }
  const wait = (verdict: 'inProgress' | 'inUse', retryAfterMs: number) => ({
    says: { verdict, retryAfterMs } as const,
  })
  const reused = { says: { verdict: 'reused' } as const }

  it.each<[string, Opening, string, number | undefined]>([
    ['whose key another body has', { ...keyed, ...reused }, 'reused', undefined],
    ['whose key is at work', { ...keyed, ...wait('inProgress', 700) }, 'inProgress', 700],
    ['whose key is at work for long', { ...keyed, ...wait('inProgress', 15_000) }, 'inProgress', 2_000],
    ['whose payment is at work', { ...keyed, ...wait('inUse', 700) }, 'inUse', 700],
    ['whose only key, the payment, is at work', { ...unkeyed, ...wait('inProgress', 700) }, 'inUse', 700],
  ])('%s is told so without the chain', async (_, given, answer, retryAfterMs) => {
    const { call, ...rest } = await opened({ ...given, landing: 'found' })
    expect(rest).toMatchObject({ answer, lookups: [], kept: [], pending: [] })
    expect(call.retryAfterMs).toBe(retryAfterMs)
    expect(call.held).toBe(false)
  })

  it('does not ask the chain about a key whose lease is over', async () => {
    const { answer, lookups } = await opened({ ...keyed, ...wait('inProgress', 0), landing: 'found' })
    expect({ answer, lookups }).toEqual({ answer: 'inProgress', lookups: [] })
  })

  it.each<[string, Opening]>([
    ['is settling beside another key', { ...keyed, ...wait('inUse', 0) }],
    ['is settling', { ...unkeyed, ...wait('inProgress', 0) }],
    ['came with another body', { ...unkeyed, ...reused }],
  ])('is told by the chain what became of a payment whose call stopped: it %s', async (_, given) => {
    const found = await opened({ ...given, landing: 'found' })
    expect(found).toMatchObject({ answer: 'spent', lookups: [['TX', 100n, 200n]] })
    for (const landing of ['absent', 'unknown'] as const) {
      const { answer, call } = await opened({ ...given, landing })
      expect({ answer, retryAfterMs: call.retryAfterMs }).toEqual({ answer: 'inUse', retryAfterMs: 0 })
    }
  })

  it('is told that its payment is spent', async () => {
    const { answer, call } = await opened({ ...keyed, says: { verdict: 'spent' } })
    expect({ answer, held: call.held }).toEqual({ answer: 'spent', held: false })
  })

  it('is not charged for by a store that is full', async () => {
    const { answer, call, pending } = await opened({ ...keyed, says: { verdict: 'full' } })
    expect(answer).toBe('storeDown')
    expect(call).toMatchObject({ held: false, problem: { code: 'store_unavailable' }, retryAfterMs: 2_000 })
    expect(pending).toEqual([])
  })

  it('gives back what a silent store may have given it', async () => {
    const { answer, call, pending, kept } = await opened({ ...keyed, says: new Error('down') })
    expect(answer).toBe('storeDown')
    expect(call).toMatchObject({ held: false, problem: { code: 'store_unavailable' } })
    expect(pending).toEqual([{ ...call.hold, how: 'release', retentionMs: 0 }])
    expect(kept).toEqual([])
  })
})

describe('a key that was used', () => {
  const told = { txId: 'TX', payer: 'PAYER', amount: '10000', asset: '10458941' }
  const answer = { status: 200, headers: {}, body: 'paid' } as const

  async function replayed(kept: typeof answer | undefined) {
    const name = (await claimOf({ key: KEY, paid: {} }))!.name
    const sealed = seal({ ...told, answer: kept } as never, KEY, name, systemRandom)
    return opened({ key: KEY, paid: {}, says: { verdict: 'replayable', answer: sealed } })
  }

  it('is answered with what was charged for', async () => {
    const { call, ...rest } = await replayed(answer)
    expect(rest).toMatchObject({ answer: 'replayable', kept: [] })
    expect(call).toMatchObject({ held: false, replayed: { ...told, answer: { status: 200 } } })
    expect(String(call.replayed!.answer!.body)).toBe('paid')
  })

  it.each<[string, Opening]>([
    ['a payment that can be read', { key: KEY, paid: {} }],
    ['a payment that nothing can be read in', { key: KEY, paid: 'unreadable' }],
    ['the payment as the key', { paid: {} }],
  ])('is the same whichever entry of the quote is echoed, with %s', async (_, given) => {
    const echoed = async (network: unknown) => {
      const { moves } = await opened({ ...given, payload: { accepted: { network, amount: '10000' } } })
      const { token, ...rest } = moves[0]!
      return rest
    }
    const short = await echoed(CAIP2.testnet)
    for (const network of [TESTNET.wholeHashId, 'algorand:other', undefined])
      expect(await echoed(network)).toEqual(short)
  })

  it('is told of an answer that was too large to be kept', async () => {
    const { call, ...rest } = await replayed(undefined)
    expect(rest.answer).toBe('notKept')
    expect(call.replayed).toMatchObject({ txId: 'TX', answer: undefined })
  })

  it('and whose call stopped while settling is taken over, but no payment yet', async () => {
    const recorded = { answer: new Uint8Array(1) }
    const { call, kept, ...rest } = await opened({
      key: KEY,
      paid: {},
      says: { verdict: 'orphaned', recorded },
    })
    expect(rest.answer).toBe('orphaned')
    expect(call).toMatchObject({ recorded, held: false })
    const { slot, token, claim } = call.hold!
    expect(kept).toEqual([[{ slot, token, claim }, START_MS]])
  })
})
