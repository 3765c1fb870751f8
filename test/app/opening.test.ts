/** What a caller is told who does not get the key and the payment that it asked for: what is in use, spent, kept or unknown. */
import { describe, expect, it } from 'vitest'
import { seal } from '../../src/app/charge/seal-answers.js'
import { CAIP2, TESTNET } from '../../src/domain/network.js'
import { systemRandom } from '../../src/ports/random.js'
import { fieldsOf } from '../support/call-fields.js'
import { START_MS } from '../support/one-call.js'
import { claimOf, type Opening, opened } from '../support/opened-call.js'

const KEY = 'a random key of more than 32 characters'
const SHORT_KEY = 'x'.repeat(31)

describe('a key that can be guessed', () => {
  const short: Opening = { key: SHORT_KEY, paid: {}, round: 150n }
  const lies: Opening = { ...short, says: [{ verdict: 'unsure' }, { verdict: 'opened' }] }

  it.each<[string, Opening, string, number]>([
    ['with nothing under it is taken at once, whatever the node says', short, 'opened', 1],
    ['opens nothing for a payment that landed', { ...lies, hasLanded: true }, 'spent', 1],
    ['is looked at again with a payment that has not landed', { ...lies, hasLanded: false }, 'opened', 2],
    [
      'is refused where the store does not decide it even then',
      { ...short, says: { verdict: 'unsure' }, hasLanded: false },
      'storeDown',
      2,
    ],
    ['is refused while the node does not say', lies, 'storeDown', 1],
    [
      'is refused with a payment that nothing can be read in',
      { ...lies, paid: 'unreadable' },
      'storeDown',
      1,
    ],
  ])('%s', async (_, given, answer, asked) => {
    const { moves, landedAsked, ...rest } = await opened(given)
    expect(rest.answer).toBe(answer)
    expect(moves).toEqual([true, false].slice(0, asked).map(isBearer => ({ ...moves[0], isBearer })))
    expect(landedAsked).toHaveLength(given.says && given.paid !== 'unreadable' ? 1 : 0)
  })

  it('says when to try again where the node does not', async () => {
    const { call } = await opened(lies)
    expect(fieldsOf(call)).toMatchObject({ retryAfterMs: 2_000, problem: { code: 'node_unavailable' } })
    expect(call.end.problem!.message).toContain('32')
  })

  it('opens nothing for a payment that can land no more, and is called spent only where it landed', async () => {
    const landed = await opened({ ...lies, round: 201n, hasLanded: true })
    expect(landed).toMatchObject({ answer: 'spent', landedAsked: ['TX'] })
    expect(landed.call.end.problem).toBeUndefined()
    for (const hasLanded of [false, undefined]) {
      const over = await opened({ ...lies, round: 201n, hasLanded })
      expect(over).toMatchObject({ answer: 'spent', landedAsked: ['TX'] })
      expect(over.call.end.problem).toMatchObject({
        code: 'settlement_unknown',
        message: expect.stringContaining('can no longer land'),
      })
    }
    // In its last round it still can; where no round is known, only the node knows.
    for (const round of [200n, undefined]) {
      const { answer, landedAsked, call } = await opened({ ...lies, round, hasLanded: false })
      expect({ answer, landedAsked }).toEqual({ answer: 'opened', landedAsked: ['TX'] })
      expect(call.holds.owned!.isBearer).toBe('unlanded')
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
    const { call, ...rest } = await opened({ ...given, hasLanded: true })
    expect(rest).toMatchObject({ answer, landedAsked: [], kept: [], pending: [] })
    expect(call.end.retryAfterMs).toBe(retryAfterMs)
    expect(call.holds.held).toBe(false)
  })

  it('does not ask the chain about a key whose lease is over', async () => {
    const { answer, landedAsked } = await opened({ ...keyed, ...wait('inProgress', 0), hasLanded: true })
    expect({ answer, landedAsked }).toEqual({ answer: 'inProgress', landedAsked: [] })
  })

  it.each<[string, Opening]>([
    ['is settling beside another key', { ...keyed, ...wait('inUse', 0) }],
    ['is settling', { ...unkeyed, ...wait('inProgress', 0) }],
    ['came with another body', { ...unkeyed, ...reused }],
  ])('is told by the chain what became of a payment whose call stopped: it %s', async (_, given) => {
    const found = await opened({ ...given, hasLanded: true })
    expect(found).toMatchObject({ answer: 'spent', landedAsked: ['TX'] })
    expect(found.call.end.retryAfterMs).toBeUndefined()
    for (const hasLanded of [false, undefined]) {
      const { answer, call } = await opened({ ...given, hasLanded })
      expect({ answer, retryAfterMs: call.end.retryAfterMs }).toEqual({
        answer: 'inUse',
        retryAfterMs: 2_000,
      })
      expect(call.end.problem!.message).toMatch(/by the same request with a proof.*Do not pay again before/)
    }
  })

  it('is told that its payment is spent', async () => {
    const { answer, call } = await opened({ ...keyed, says: { verdict: 'spent' } })
    expect({ answer, held: call.holds.held }).toEqual({ answer: 'spent', held: false })
  })

  it('is not charged for by a store that is full', async () => {
    const { answer, call, pending } = await opened({ ...keyed, says: { verdict: 'full' } })
    expect(answer).toBe('storeDown')
    expect(fieldsOf(call)).toMatchObject({
      held: false,
      problem: { code: 'store_unavailable' },
      retryAfterMs: 2_000,
    })
    expect(pending).toEqual([])
  })

  it('gives back what a silent store may have given it', async () => {
    const { answer, call, pending, kept } = await opened({ ...keyed, says: new Error('down') })
    expect(answer).toBe('storeDown')
    expect(fieldsOf(call)).toMatchObject({ held: false, problem: { code: 'store_unavailable' } })
    expect(pending).toEqual([{ ...call.holds.owned!.hold, how: 'release', retentionMs: 0 }])
    expect(kept).toEqual([])
  })
})

describe('a payment that was recorded under another name, because a deploy turned keys on or off', () => {
  const OFF = { rules: { idempotency: undefined } } as const
  const ID = 'the-id-in-the-payment'
  const identified = (id: unknown) => ({
    payload: { extensions: { 'payment-identifier': { info: { id } } } },
  })
  const names = async (given: Opening) => {
    const { moves, call } = await opened({ paid: {}, ...given })
    return { names: moves.map(({ claim }) => claim!.name), key: call.holds.key }
  }
  const SPENT = { says: { verdict: 'spent' } } as const
  const own = async () => (await claimOf({ paid: {} }))!.name
  const under = async (key: string) => (await claimOf({ key, paid: {} }))!.name

  it('is looked for under its own name after its key', async () => {
    const both = [await under(KEY), await own()]
    expect(await names({ key: KEY, ...SPENT })).toEqual({ names: both, key: undefined })
    const inUse = { says: { verdict: 'inUse', retryAfterMs: 1 } } as const
    expect(await names({ key: KEY, ...inUse })).toEqual({ names: both, key: undefined })
  })

  it.each<[string, Opening, string]>([
    ['the header', { key: KEY }, KEY],
    ['the payment', identified(ID), ID],
    ['both, and the header counts', { key: KEY, ...identified(ID) }, KEY],
  ])('is looked for under its key after its own name: the key is in %s', async (_, given, key) => {
    expect(await names({ ...given, ...OFF, ...SPENT })).toEqual({
      names: [await own(), await under(key)],
      key,
    })
  })

  it('is looked for once where it has one name', async () => {
    for (const given of [{}, identified('short')])
      expect(await names({ ...given, ...OFF, ...SPENT })).toEqual({ names: [await own()], key: undefined })
    expect((await names({ paid: 'unreadable', key: KEY, ...SPENT })).names).toHaveLength(1)
  })

  it('and is at work is told by its payment, whichever name it has', async () => {
    const says = { verdict: 'inUse', retryAfterMs: 700 } as const
    const { answer, call, moves } = await opened({ key: KEY, paid: {}, ...OFF, says })
    expect({ answer, retryAfterMs: call.end.retryAfterMs, asked: moves.length }).toEqual({
      answer: 'inUse',
      retryAfterMs: 700,
      asked: 2,
    })
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
    expect(fieldsOf(call)).toMatchObject({ held: false, replayed: { ...told, answer: { status: 200 } } })
    expect(String(call.earlier.replayed!.answer!.body)).toBe('paid')
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

  it('is told of an answer that was dropped since, with its transaction', async () => {
    const says = { verdict: 'notKept', txId: 'EARLIER' } as const
    const { answer, call } = await opened({ key: KEY, paid: {}, says })
    expect({ answer, replayed: call.earlier.replayed?.txId }).toEqual({
      answer: 'notKept',
      replayed: 'EARLIER',
    })
  })

  describe('and whose answer is filed under its payment’s own name', () => {
    const PROVEN = { call: { isProven: true } } as const

    /** Asks with a key or with none, where the store gives what was sealed under this secret, or under none. */
    async function filed(sealedUnder: string | undefined, asking: Opening) {
      const own = (await claimOf({ paid: {} }))!.name
      const { name } =
        sealedUnder === undefined ? { name: own } : (await claimOf({ key: sealedUnder, paid: {} }))!
      const sealed = seal({ ...told, answer } as never, sealedUnder ?? 'WRAPPER', name, systemRandom)
      const replayable = { verdict: 'replayable', answer: sealed } as const
      // Under the payment's own name, which is asked next, it opens for the payer that proved itself.
      const next = asking.call?.isProven ? replayable : ({ verdict: 'spent' } as const)
      const found = await opened({ paid: {}, ...asking, says: [replayable, next] })
      const { held, problem, replayed } = fieldsOf(found.call)
      return { answer: found.answer, held, says: problem?.message, txId: replayed?.txId }
    }

    it.each<[string, string | undefined, Opening]>([
      ['the key that it came with', KEY, { key: KEY }],
      ['that key and a proof', KEY, { key: KEY, ...PROVEN }],
      ['a proof, where it came with no key', undefined, PROVEN],
      ['a proof and a key, where it came with no key', undefined, { key: KEY, ...PROVEN }],
    ])('gets it with %s', async (_, sealedUnder, asking) => {
      expect(await filed(sealedUnder, asking)).toMatchObject({
        answer: 'replayable',
        held: false,
        txId: 'TX',
      })
    })

    it('is told of the key that it came with, if it is proven to be the payer', async () => {
      for (const asking of [PROVEN, { key: `${KEY}.`, ...PROVEN }])
        expect(await filed(KEY, asking)).toMatchObject({
          answer: 'spent',
          held: false,
          says: expect.stringContaining('send the same request with that key'),
          txId: undefined,
        })
    })

    it('is told no more than that the payment is spent, if it is not', async () => {
      for (const [sealedUnder, asking] of [
        [undefined, { key: KEY }],
        [KEY, { key: `${KEY}.` }],
        [KEY, {}],
      ] as const)
        expect(await filed(sealedUnder, asking)).toEqual({
          answer: 'spent',
          held: false,
          says: undefined,
          txId: undefined,
        })
    })
  })

  it('and whose answer nothing can unseal is an error, where no payment has another name for it', async () => {
    const says = { verdict: 'replayable', answer: new Uint8Array(64) } as const
    await expect(opened({ key: KEY, request: { subscriptionKey: 'svc_key' }, says })).rejects.toThrow(
      'unsealed',
    )
  })

  it('is told of an answer that was too large to be kept', async () => {
    const { call, ...rest } = await replayed(undefined)
    expect(rest.answer).toBe('notKept')
    expect(call.earlier.replayed).toMatchObject({ txId: 'TX', answer: undefined })
  })

  it('and whose call stopped while settling is taken over, but no payment yet', async () => {
    const recorded = { answer: new Uint8Array(1) }
    const { call, kept, ...rest } = await opened({
      key: KEY,
      paid: {},
      says: { verdict: 'orphaned', recorded },
    })
    expect(rest.answer).toBe('orphaned')
    expect(fieldsOf(call)).toMatchObject({ recorded, held: false })
    const { slot, token, claim } = call.holds.owned!.hold
    expect(kept).toEqual([[{ slot, token, claim }, START_MS]])
  })
})
