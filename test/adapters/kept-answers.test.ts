/** What memory keeps of answers, held against lists that are searched from the front: what is dropped, and in which order. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { KeptAnswers } from '../../src/adapters/memory/drop-oldest-answers.js'
import type { Claim } from '../../src/domain/charge-store/records.js'
import { KEPT_BYTES_MAX, KEPT_RECORD_BYTES } from '../../src/domain/machines/claim-and-payment.rules.js'

interface Answer {
  readonly id: number
  readonly kind: 'key' | 'payment' | 'covered'
  readonly owner: string
  readonly bytes: number
}

/** The budgets, and what they drop: an answer leaves its name. */
function keeping(max: number) {
  const answers = new KeptAnswers(max)
  const claims = new Map<string, { readonly claim: Claim; readonly answer: Answer }>()
  const dropped: Answer[] = []
  const claimOf = (answer: Answer): Claim => {
    const kept = {
      payment: undefined,
      by: answer.kind === 'covered' ? undefined : 'token',
      get answer() {
        return { byteLength: answer.bytes } as Uint8Array
      },
      set answer(_: Uint8Array | undefined) {
        dropped.push(answer)
      },
    }
    const claim = { name: `${answer.id}`, slot: answer.owner, isOfPayment: answer.kind === 'payment', kept }
    claims.set(claim.name, { claim: claim as unknown as Claim, answer })
    return claim as unknown as Claim
  }
  const added = (answer: Answer) => {
    const gone = answers.add(claimOf(answer))
    // As the store does with a claim that is evicted.
    if (gone) answers.remove(gone)
    return { dropped: dropped.splice(0), gone: gone ? [claims.get(gone.name)!.answer] : [] }
  }
  return { added, remove: (answer: Answer) => answers.remove(claims.get(`${answer.id}`)!.claim) }
}

/** The same by lists. `drops` says which of several owners with as many answers loses its oldest one: the budgets may choose. */
function modelOf(max: number) {
  let kept: (Answer & { readonly counted: number })[] = []
  let names: Answer[] = []
  const oldestOf = (kind: string, owner: string) =>
    kept.filter(answer => answer.kind === kind && answer.owner === owner)
  const forget = (id: number) => {
    kept = kept.filter(answer => answer.id !== id)
    names = names.filter(name => name.id !== id)
  }
  return {
    forget,
    /** Checks what adding the answer did. */
    check(answer: Answer, counted: number, seen: { dropped: Answer[]; gone: Answer[] }) {
      kept.push({ ...answer, counted })
      const must: number[] = []
      const gone: number[] = []
      const drop = (old: Answer) => {
        forget(old.id)
        must.push(old.id)
        names.push(old)
      }
      for (;;) {
        const [oldest, ...newer] = oldestOf(answer.kind, answer.owner)
        if (newer.reduce((sum, other) => sum + other.counted, 0) < KEPT_BYTES_MAX) break
        drop(oldest!)
      }
      const ofKind = kept.filter(({ kind }) => kind === answer.kind)
      if (ofKind.length > max) {
        const lists = [...new Set(ofKind.map(({ owner }) => owner))].map(owner =>
          oldestOf(answer.kind, owner),
        )
        const most = Math.max(...lists.map(list => list.length))
        const allowed = lists.filter(list => list.length === most).map(list => list[0]!)
        const chosen = allowed.find(({ id }) => id === seen.dropped[must.length]?.id)
        expect(chosen, 'the oldest answer of an owner that has the most').toBeDefined()
        drop(chosen!)
      }
      const namesOfKind = names.filter(({ kind }) => kind === answer.kind)
      if (namesOfKind.length > max * 100) gone.push(namesOfKind[0]!.id)
      for (const id of gone) forget(id)
      expect(seen.dropped.map(({ id }) => id)).toEqual(must)
      expect(seen.gone.map(({ id }) => id)).toEqual(gone)
      expect(must).not.toContain(answer.id)
    },
  }
}

describe('the budgets of kept answers', () => {
  let ids = 0
  const of = (over: Partial<Answer> = {}): Answer => ({
    id: ids++,
    kind: 'key',
    owner: 'a',
    bytes: 10,
    ...over,
  })
  const NOTHING = { dropped: [], gone: [] }

  it('keep an answer until newer ones of its owner take as much as the budget', () => {
    const { added } = keeping(500)
    const [old, half] = [of(), of({ bytes: KEPT_BYTES_MAX / 2 - KEPT_RECORD_BYTES - 1 })]
    const rest = of({ bytes: KEPT_BYTES_MAX / 2 - KEPT_RECORD_BYTES })
    for (const one of [old, half, rest]) expect(added(one)).toEqual(NOTHING)
    // The newer ones and this one take the budget to the byte.
    expect(added(of({ bytes: 1 - KEPT_RECORD_BYTES }))).toEqual({ dropped: [old], gone: [] })
  })

  it('keep an answer that is larger than all of them, alone', () => {
    const { added } = keeping(500)
    const [old, large] = [of(), of({ bytes: 3 * KEPT_BYTES_MAX })]
    expect(added(old)).toEqual(NOTHING)
    expect(added(large)).toEqual({ dropped: [old], gone: [] })
    expect(added(of())).toEqual(NOTHING)
    expect(added(of({ bytes: KEPT_BYTES_MAX }))).toMatchObject({ dropped: [large, {}] })
  })

  it('of one owner, and of one kind, take nothing from another', () => {
    const { added } = keeping(500)
    const mine = of({ bytes: KEPT_BYTES_MAX })
    expect(added(mine)).toEqual(NOTHING)
    expect(added(of({ owner: 'b', bytes: KEPT_BYTES_MAX }))).toEqual(NOTHING)
    expect(added(of({ kind: 'payment', bytes: KEPT_BYTES_MAX }))).toEqual(NOTHING)
    expect(added(of())).toEqual(NOTHING)
  })

  it('take from the owner that has the most, not from the one whose answer is the oldest', () => {
    const { added } = keeping(3)
    const [old, first] = [of(), of({ owner: 'b' })]
    for (const one of [old, first, of({ owner: 'b' })]) expect(added(one)).toEqual(NOTHING)
    expect(added(of({ owner: 'c' }))).toEqual({ dropped: [first], gone: [] })
    expect(added(of({ kind: 'covered' }))).toEqual(NOTHING)
  })

  it('keep a hundred names for each answer, and then forget the name whose answer was dropped first', () => {
    const { added, remove } = keeping(2)
    const many = Array.from({ length: 202 }, () => of())
    for (const one of many) expect(added(one).gone).toEqual([])
    expect(added(of())).toEqual({ dropped: [many[200]], gone: [many[0]] })
    // A name that ended makes room for another.
    remove(many[1]!)
    expect(added(of())).toEqual({ dropped: [many[201]], gone: [] })
    expect(added(of())).toMatchObject({ gone: [many[2]] })
  })

  it('forget no name of one kind for names of another', () => {
    const { added } = keeping(1)
    for (let at = 0; at < 100; at++) expect(added(of({ kind: 'payment' })).gone).toEqual([])
    for (let at = 0; at < 100; at++) expect(added(of()).gone).toEqual([])
    expect(added(of())).toMatchObject({ dropped: [{}], gone: [] })
  })

  it('count nothing that was removed, however often', () => {
    const { added, remove } = keeping(1)
    const [one, large] = [of(), of({ bytes: KEPT_BYTES_MAX })]
    added(one)
    for (const again of [one, one]) remove(again)
    expect(added(large)).toEqual(NOTHING)
    remove(large)
    expect(added(of())).toEqual(NOTHING)
  })

  const bytes = fc.constantFrom(
    0,
    1,
    KEPT_BYTES_MAX / 4,
    KEPT_BYTES_MAX / 2,
    KEPT_BYTES_MAX - KEPT_RECORD_BYTES,
    2 * KEPT_BYTES_MAX,
  )
  const answer = fc.record({
    kind: fc.constantFrom('key' as const, 'payment' as const, 'covered' as const),
    owner: fc.constantFrom('a', 'b', 'c'),
    bytes: fc.oneof({ weight: 2, arbitrary: fc.constant(10) }, { weight: 1, arbitrary: bytes }),
  })
  /** Adds an answer, or removes the one that many back, whether or not it is still kept. */
  const step = fc.oneof({ weight: 4, arbitrary: answer }, { weight: 1, arbitrary: fc.nat(12) })

  it.each([1, 2, 5])('drop as lists do that are searched from the front: %i of a kind', max => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 250, size: 'max' }), steps => {
        const { added, remove } = keeping(max)
        const model = modelOf(max)
        const all: Answer[] = []
        for (const step of steps) {
          if (typeof step === 'number') {
            const old = all.at(-1 - step)
            if (old) remove(old)
            if (old) model.forget(old.id)
          } else {
            const one = { id: all.length, ...step }
            all.push(one)
            const counted = one.bytes + KEPT_RECORD_BYTES
            const seen = added(one)
            model.check(one, counted, seen)
          }
        }
      }),
      { numRuns: 100 },
    )
  })
})
