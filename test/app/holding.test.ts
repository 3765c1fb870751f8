/** What a call asks the charge store for: what it holds, in whose name, and which request is the same one again. */
import { describe, expect, it } from 'vitest'
import { ADDRESS, START_MS } from '../support/one-call.js'
import { claimOf, LEASE_MS, type Opening, opened } from '../support/opened-call.js'

const KEY = 'a key of more than sixteen characters'

describe('what a call holds', () => {
  it.each<[string, Opening]>([
    ['neither key, payment nor window', {}],
    ['a key, but nothing that it could protect', { key: KEY }],
    ['a payment that cannot be read, and no key', { paid: 'unreadable' }],
    ['a key that does not count', { key: KEY, paid: 'unreadable', rules: { idempotency: undefined } }],
  ])('is nothing where it has %s', async (_, given) => {
    expect(await opened(given)).toMatchObject({ answer: 'opened', moves: [], call: { held: false } })
  })

  it('is its payment and its key together, under the payer, for the length of a lease', async () => {
    const { answer, call, moves, kept, pending } = await opened({ key: KEY, paid: {} })
    expect(answer).toBe('opened')
    const hold = { token: call.id, slot: 'PAYER', payment: 'TX', claim: expect.anything() }
    expect(moves).toEqual([{ ...hold, leaseMs: LEASE_MS }])
    expect(kept).toEqual([[hold, START_MS]])
    expect(call).toMatchObject({ hold, held: true, secret: KEY })
    expect(pending).toEqual([])
  })

  it('is the payment as its own key where it has none, sealed with the signature', async () => {
    const { call, moves } = await opened({ paid: {} })
    expect(moves).toMatchObject([{ slot: 'PAYER', payment: 'TX', claim: {} }])
    expect(call.secret).toBe('SIGNATURE')
    // Another signature over the same transaction opens nothing, and takes nothing else.
    expect(await claimOf({ paid: { signature: 'ANOTHER' } })).not.toEqual(moves[0]!.claim)
    expect(await claimOf({ paid: {}, rules: { idempotency: undefined }, key: KEY })).toEqual(moves[0]!.claim)
  })

  it('is the payment alone where it has neither key nor a signature that could be a secret', async () => {
    const { answer, moves } = await opened({ paid: { signature: undefined } })
    expect(answer).toBe('opened')
    expect(moves).toMatchObject([{ slot: 'PAYER', payment: 'TX' }])
    expect(moves[0]).not.toHaveProperty('claim')
  })

  it('stands under the payer that an unreadable payment claims, or under the scope of its key', async () => {
    const claimed = await opened({ key: KEY, paid: 'unreadable', payload: { payload: { payer: 'CLAIMED' } } })
    expect(claimed.moves).toMatchObject([{ slot: 'CLAIMED', claim: {} }])
    expect(claimed.moves[0]).not.toHaveProperty('payment')
    const { moves } = await opened({ key: KEY, paid: 'unreadable' })
    expect(moves).toMatchObject([{ slot: expect.stringContaining(ADDRESS), claim: {} }])
    const { moves: window } = await opened({ key: KEY, request: { subscriptionKey: 'svc_one' } })
    expect(window).toMatchObject([{ slot: expect.stringMatching(/^window:/), claim: {} }])
    expect(window[0]!.slot).not.toContain('svc_one')
  })
})

describe('whose key it is', () => {
  const elsewhere = { clientAddress: '198.51.100.1' }

  it('is the payer’s who signed a payment to us, wherever they call from and whatever they pay with', async () => {
    const one = await claimOf({ key: KEY, paid: {} })
    expect(await claimOf({ key: KEY, paid: { txId: 'NEXT' }, request: elsewhere })).toEqual(one)
    expect(await claimOf({ key: KEY, paid: { payer: 'OTHER' } })).not.toEqual(one)
    expect(await claimOf({ key: `${KEY}.`, paid: {} })).not.toEqual(one)
  })

  it('is that of an address where the payer proves nothing', async () => {
    const unproven = { proven: () => false }
    const one = await claimOf({ key: KEY, paid: unproven })
    expect(await claimOf({ key: KEY, paid: {} })).not.toEqual(one)
    expect(await claimOf({ key: KEY, paid: unproven, request: elsewhere })).not.toEqual(one)
    expect(await claimOf({ key: KEY, paid: { ...unproven, payer: 'OTHER' } })).not.toEqual(one)
    const claiming = (payer: string): Opening => ({
      key: KEY,
      paid: 'unreadable',
      payload: { payload: { payer } },
    })
    expect(await claimOf(claiming('OTHER'))).not.toEqual(await claimOf(claiming('CLAIMED')))
    expect(await claimOf({ key: KEY, paid: 'unreadable' })).not.toEqual(await claimOf(claiming('CLAIMED')))
  })

  it('is the window’s where the call brings no payment', async () => {
    const window = (subscriptionKey: string): Opening => ({ key: KEY, request: { subscriptionKey } })
    expect(await claimOf(window('svc_one'))).toEqual(await claimOf(window('svc_one')))
    expect(await claimOf(window('svc_two'))).not.toEqual(await claimOf(window('svc_one')))
    const paying = { key: KEY, paid: {}, request: { subscriptionKey: 'svc_one' } }
    expect(await claimOf(paying)).toEqual(await claimOf({ key: KEY, paid: {} }))
  })

  it('is of one endpoint of one seller', async () => {
    const one = await claimOf({ key: KEY, paid: {} })
    const other = await opened({ key: KEY, paid: {} })
    expect(other.moves[0]!.claim).toEqual(one)
    const { def } = other.call.endpoint
    expect(await claimOf({ key: KEY, paid: {}, def: { ...def, name: 'other' } })).not.toEqual(one)
    const seller = { world: { payTo: 'ANOTHER SELLER' }, paid: { receiver: 'ANOTHER SELLER' } }
    expect(await claimOf({ key: KEY, ...seller })).not.toEqual(one)
  })
})

describe('the same request', () => {
  const hashOf = async (given: Opening) => (await claimOf({ key: KEY, paid: {}, ...given }))!.bodyHash
  const bodyOf = (value: unknown) => ({ request: { body: { kind: 'read', value } as const } })

  it('is told by its body, whatever the order of its fields', async () => {
    const one = await hashOf(bodyOf({ a: 1, b: 2 }))
    expect(await hashOf(bodyOf({ b: 2, a: 1 }))).toBe(one)
    expect(await hashOf(bodyOf({ a: 1, b: 3 }))).not.toBe(one)
    const query = { a: 1, b: 3 }
    expect(await hashOf({ request: { ...bodyOf({ a: 1, b: 2 }).request, query } })).toBe(one)
  })

  it('is told by its query, where the endpoint is a GET', async () => {
    const def = { method: 'GET' as const }
    const one = await hashOf({ def, request: { query: { a: '1' } } })
    expect(await hashOf({ def, request: { query: { a: '2' } } })).not.toBe(one)
    expect(await hashOf({ def, request: { query: { a: '1' }, ...bodyOf({ b: 1 }).request } })).toBe(one)
  })

  it('without a body is one without a body, however it has none', async () => {
    const none = await hashOf({})
    expect(await hashOf({ request: { body: { kind: 'malformed', why: 'no JSON' } } })).toBe(none)
    expect(await hashOf(bodyOf({}))).not.toBe(none)
  })
})
