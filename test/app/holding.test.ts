/** What a call asks the charge store for: what it holds, in whose name, and which request is the same one again. */
import { describe, expect, it } from 'vitest'
import { claimName } from '../../src/app/charge/names-in-stores.js'
import { MAINNET } from '../../src/domain/network.js'
import { NO_ADDRESS } from '../../src/ports/charge.js'
import { fieldsOf } from '../support/call-fields.js'
import { ADDRESS, OWNER, START_MS } from '../support/one-call.js'
import { claimOf, LEASE_MS, type Opening, opened } from '../support/opened-call.js'

const KEY = 'a random key of more than 32 characters'

describe('what a call holds', () => {
  it.each<[string, Opening]>([
    ['neither key, payment nor window', {}],
    ['a key, but nothing that it could protect', { key: KEY }],
    ['a payment that cannot be read, and no key', { paid: 'unreadable' }],
    ['a key that does not count', { key: KEY, paid: 'unreadable', rules: { idempotency: undefined } }],
  ])('is nothing where it has %s', async (_, given) => {
    expect(await opened(given)).toMatchObject({
      answer: 'opened',
      moves: [],
      call: { holds: { held: false } },
    })
  })

  it('is its payment and its key together, under the payer, for the length of a lease', async () => {
    const { answer, call, moves, kept, pending } = await opened({ key: KEY, paid: {} })
    expect(answer).toBe('opened')
    const hold = { token: call.id, slot: 'PAYER', payment: 'TX', claim: expect.anything() }
    const speaks = { isBearer: false, caller: expect.any(String), answerName: expect.any(String) }
    expect(moves).toEqual([{ ...hold, ...speaks, leaseMs: LEASE_MS }])
    expect(kept).toEqual([[hold, START_MS]])
    expect(fieldsOf(call)).toMatchObject({ held: true, owned: { hold, seals: [KEY] } })
    expect(pending).toEqual([])
  })

  it('is the payment under its own name where it has no key, sealed with the signed bytes', async () => {
    const { call, moves } = await opened({ paid: {} })
    expect(moves).toMatchObject([{ slot: 'PAYER', payment: 'TX', claim: { isOfPayment: true } }])
    expect(call.holds.owned!.seals).toEqual(['WRAPPER'])
    // Another signature over the same transaction opens nothing, and takes nothing else.
    expect(await claimOf({ paid: { wrapperDigest: 'ANOTHER' } })).not.toEqual(moves[0]!.claim)
    expect(await claimOf({ paid: {}, rules: { idempotency: undefined }, key: KEY })).toEqual(moves[0]!.claim)
  })

  it('knows the payment’s own name beside a key, where an answer lies that lost it', async () => {
    const { moves } = await opened({ key: KEY, paid: {} })
    expect(moves[0]!.answerName).toBe((await claimOf({ paid: {} }))!.name)
    expect((await opened({ paid: {} })).moves[0]!.answerName).toBeUndefined()
  })

  it('stands under the payer that an unreadable payment claims, or under its own digest', async () => {
    const claimed = await opened({ key: KEY, paid: 'unreadable', payload: { payload: { payer: 'CLAIMED' } } })
    expect(claimed.moves).toMatchObject([{ slot: 'CLAIMED', claim: {} }])
    expect(claimed.moves[0]!.payment).toBeUndefined()
    const { moves } = await opened({ key: KEY, paid: 'unreadable' })
    expect(moves).toMatchObject([{ slot: expect.stringMatching(/^payment /), claim: {} }])
    const { moves: window } = await opened({ key: KEY, request: { subscriptionKey: 'svc_one' } })
    expect(window).toMatchObject([{ slot: expect.stringMatching(/^window /), claim: {} }])
    expect(window[0]!.slot).not.toContain('svc_one')
  })
})

describe('a key that is in the header and in the payment', () => {
  const payload = { extensions: { 'payment-identifier': { info: { id: 'the-id-in-the-payment' } } } }

  it('is one where both say the same, and is refused where they do not', async () => {
    const same = await opened({ key: 'the-id-in-the-payment', paid: {}, payload })
    expect(same).toMatchObject({ answer: 'opened', call: { holds: { key: 'the-id-in-the-payment' } } })
    const { answer, call, moves } = await opened({ key: KEY, paid: {}, payload })
    expect({ answer, code: call.end.problem?.code, moves }).toEqual({
      answer: 'unusableKey',
      code: 'idempotency_key_mismatch',
      moves: [],
    })
  })
})

it('a payment whose key is none is refused, and takes nothing', async () => {
  const payload = { extensions: { 'payment-identifier': { info: { id: 'short' } } } }
  const { answer, call, moves } = await opened({ paid: {}, payload })
  expect({ answer, code: call.end.problem?.code, moves }).toEqual({
    answer: 'unusableKey',
    code: 'invalid_payment_identifier',
    moves: [],
  })
})

describe('what speaks for the caller', () => {
  const asked = async (given: Opening) => {
    const { isBearer = false, caller } = (await opened(given)).moves[0]!
    return { isBearer, hasAddress: caller !== undefined }
  }
  const window = { periodMs: 1_000 }

  it.each<[string, Opening, boolean, boolean]>([
    ['without a key, the address', { paid: {} }, true, true],
    ['a key of 31 characters, the address', { key: 'k'.repeat(31), paid: {} }, true, true],
    ['a key of 32 characters', { key: 'k'.repeat(32), paid: {} }, false, true],
    [
      'nothing, where the host says no address',
      { paid: {}, request: { clientAddress: NO_ADDRESS } },
      true,
      false,
    ],
    ['nothing, where the endpoint sells windows', { paid: {}, endpoint: window }, true, false],
    ['the key of a window', { key: 'k', request: { subscriptionKey: 'svc_one' } }, false, false],
    ['the id of a task', { paid: {}, request: { task: 'an id' } }, false, true],
    ['a short key of who signed nothing', { key: 'k', paid: { proven: () => false } }, true, true],
  ])('%s', async (_, given, isBearer, hasAddress) => {
    expect(await asked(given)).toEqual({ isBearer, hasAddress })
  })

  it('an IPv6 caller is known by its network, and the store does not learn it', async () => {
    const at = async (clientAddress: string) =>
      (await opened({ paid: {}, request: { clientAddress } })).moves[0]!.caller
    expect(await at('2001:db8::1')).toBe(await at('2001:db8::2'))
    expect(await at('2001:db8:0:1::1')).not.toBe(await at('2001:db8::1'))
    expect(await at(ADDRESS)).not.toContain(ADDRESS)
  })
})

describe('whose key it is', () => {
  const elsewhere = { clientAddress: '198.51.100.1' }

  it('is the payer’s who signed a payment to us, wherever they call from and whatever they pay', async () => {
    const one = await claimOf({ key: KEY, paid: {} })
    for (const paid of [{ txId: 'NEXT' }, { amount: 9_999n }, { amount: 0n }, { wrapperDigest: 'OTHER' }])
      expect(await claimOf({ key: KEY, paid, request: elsewhere })).toEqual(one)
    expect(await claimOf({ key: KEY, paid: { payer: 'OTHER' } })).not.toEqual(one)
    expect(await claimOf({ key: `${KEY}.`, paid: {} })).not.toEqual(one)
    for (const paid of [{ receiver: 'OTHER' }, { asset: '1' }, { genesisHash: MAINNET.genesisHash }])
      expect(await claimOf({ key: KEY, paid })).not.toEqual(one)
  })

  it('is whose key it is, if it is random, where the payer proves nothing', async () => {
    const unproven = { proven: () => false }
    const one = await claimOf({ key: KEY, paid: unproven })
    expect(await claimOf({ key: KEY, paid: {} })).not.toEqual(one)
    expect(await claimOf({ key: KEY, paid: unproven, request: elsewhere })).toEqual(one)
    expect(await claimOf({ key: KEY, paid: { ...unproven, txId: 'NEXT' } })).toEqual(one)
    expect(await claimOf({ key: KEY, paid: { ...unproven, payer: 'OTHER' } })).not.toEqual(one)
    const claiming = (payer: string): Opening => ({
      key: KEY,
      paid: 'unreadable',
      payload: { payload: { payer } },
    })
    expect(await claimOf(claiming('OTHER'))).not.toEqual(await claimOf(claiming('CLAIMED')))
    expect(await claimOf({ key: KEY, paid: 'unreadable' })).not.toEqual(await claimOf(claiming('CLAIMED')))
  })

  it('is the payment’s, if it is short, where the payer proves nothing', async () => {
    const short = (over: object): Opening => ({ key: 'short', paid: { proven: () => false, ...over } })
    const one = await claimOf(short({}))
    expect(await claimOf(short({}))).toEqual(one)
    for (const over of [{ txId: 'NEXT' }, { wrapperDigest: 'OTHER' }])
      expect(await claimOf(short(over))).not.toEqual(one)
  })

  it('is the window’s where the call brings no payment', async () => {
    const window = (subscriptionKey: string): Opening => ({ key: KEY, request: { subscriptionKey } })
    expect(await claimOf(window('svc_one'))).toEqual(await claimOf(window('svc_one')))
    expect(await claimOf(window('svc_two'))).not.toEqual(await claimOf(window('svc_one')))
    const paying = { key: KEY, paid: {}, request: { subscriptionKey: 'svc_one' } }
    expect(await claimOf(paying)).toEqual(await claimOf({ key: KEY, paid: {} }))
  })

  it('is the task’s where the task names the call, and a header that reads like one is not', async () => {
    const task = (id: string): Opening => ({ paid: {}, request: { task: id } })
    const claim = await claimOf(task('id'))
    expect(claim!.name).toBe(claimName(OWNER, ['task'], 'task:id'))
    expect(await claimOf({ ...task('id'), paid: { payer: 'OTHER' } })).toEqual(claim)
    for (const id of ['id', 'undefined']) {
      const header = await claimOf({ paid: {}, key: `task:${id}` })
      expect(header!.name).toBe(claimName(OWNER, ['payer', 'PAYER'], `task:${id}`))
    }
    const payload = { extensions: { 'payment-identifier': { info: { id: 'the-id-in-the-payment' } } } }
    expect(await claimOf({ ...task('id'), payload })).toEqual(await claimOf({ paid: {}, payload }))
  })

  it('is the balance’s where a balance pays', async () => {
    const balance = { id: 'one', reserved: undefined, left: undefined, said: undefined, charged: undefined }
    const on = (id: string) => claimOf({ key: KEY, call: { balance: { ...balance, id, isInDoubt: false } } })
    expect((await on('one'))!.name).toBe(claimName(OWNER, ['balance', 'one'], KEY))
    expect(await on('two')).not.toEqual(await on('one'))
  })

  it('is random from 32 characters on', async () => {
    const unproven = (length: number, txId: string) =>
      claimOf({ key: 'k'.repeat(length), paid: { proven: () => false, txId } })
    expect(await unproven(32, 'ONE')).toEqual(await unproven(32, 'TWO'))
    expect(await unproven(31, 'ONE')).not.toEqual(await unproven(31, 'TWO'))
  })

  it('is the unreadable payment’s, if it is short', async () => {
    const short = (payload?: unknown) => claimOf({ key: 'short', paid: 'unreadable', payload: { payload } })
    const one = await short({ signed: 'one' })
    expect(await short({ signed: 'one' })).toEqual(one)
    for (const other of [{ signed: 'two' }, null, undefined]) expect(await short(other)).not.toEqual(one)
    expect(await short()).toEqual(await short(null))
  })

  it('is of one endpoint of one seller', async () => {
    const one = await claimOf({ key: KEY, paid: {} })
    const other = await opened({ key: KEY, paid: {} })
    expect(other.moves[0]!.claim).toEqual(one)
    const { def } = other.call.endpoint
    expect(await claimOf({ key: KEY, paid: {}, def: { ...def, name: 'other' } })).not.toEqual(one)
    const seller = { payTo: 'ANOTHER SELLER', paid: { receiver: 'ANOTHER SELLER' } }
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
  })

  it('is told by its query as well, and by its method', async () => {
    const asked = { request: { ...bodyOf({ a: 1 }).request, query: { tier: 'gold', page: '2' } } }
    const one = await hashOf(asked)
    expect(await hashOf(bodyOf({ a: 1 }))).not.toBe(one)
    expect(await hashOf({ request: { ...asked.request, query: { page: '2', tier: 'gold' } } })).toBe(one)
    expect(await hashOf({ request: { ...asked.request, query: { page: ['2'], tier: 'gold' } } })).not.toBe(
      one,
    )
    const get = { def: { method: 'GET' as const }, request: { query: {} } }
    expect(await hashOf(get)).not.toBe(await hashOf({ request: { query: {} } }))
  })

  it('is told by the parameters in its path', async () => {
    const at = (params: Record<string, string>) =>
      hashOf({ request: { target: { method: 'POST', path: '/items', params } } })
    const one = await at({ id: '1' })
    expect(await at({ id: '1' })).toBe(one)
    for (const other of [{ id: '2' }, { ref: '1' }, {}] as Record<string, string>[])
      expect(await at(other)).not.toBe(one)
    expect(await hashOf({})).not.toBe(one)
  })

  it('of bytes is not that of the text which JSON makes of them', async () => {
    const bytes = await hashOf(bodyOf(new Uint8Array([1, 2])))
    expect(await hashOf(bodyOf(new Uint8Array([1, 2])))).toBe(bytes)
    for (const other of [new Uint8Array([1, 3]), { 0: 1, 1: 2 }, [1, 2]])
      expect(await hashOf(bodyOf(other))).not.toBe(bytes)
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
