/** A payment beside the key of a window: which of the two counts, and that the other one is as if it had not come. */
import { describe, expect, it } from 'vitest'
import type { ChargeDeps } from '../../src/app/charge/charge-deps.js'
import { admit } from '../../src/app/charge/effects/admit.js'
import { keyOfCall, ownedBy, ownerOf, windowId } from '../../src/app/charge/names-in-stores.js'
import { createCharge } from '../../src/app/charge/walk-charge-machine.js'
import { declaredIdentifier, PAYMENT_IDENTIFIER, withIdentifier } from '../../src/domain/idempotency-key.js'
import { TESTNET } from '../../src/domain/network.js'
import type { PaymentPayload } from '../../src/domain/x402.js'
import type { Opened } from '../../src/ports/charge-store.js'
import { perMinute } from '../../src/ports/counters.js'
import type { SubscriptionRecord, SubscriptionStore } from '../../src/ports/subscriptions.js'
import { fieldsOf } from '../support/call-fields.js'
import { DOWN, type Given, OWNER, oneCall, SELLER, START_MS } from '../support/one-call.js'
import { claimOf, type Opening, opened } from '../support/opened-call.js'

const KEY = 'svc_key'
const ID = windowId(OWNER, KEY)
const OPEN: SubscriptionRecord = { endpoint: 'work', expiresAtMs: START_MS + 1 }
const IDENTIFIER = 'the-id-in-the-payment'
const PAYLOAD: PaymentPayload = { accepted: { scheme: 'exact' } }
const IDENTIFIED = withIdentifier(
  { ...PAYLOAD, extensions: { [PAYMENT_IDENTIFIER]: declaredIdentifier() } },
  IDENTIFIER,
)
const BAD_PROOF = { kind: 'malformed', why: 'no proof' } as const

/** A store of windows with one window, or another answer to everything. */
const storing = (window: SubscriptionRecord | undefined, id = ID) =>
  ({ get: (asked: string) => (asked === id ? window : undefined) }) as unknown as SubscriptionStore

/** A call with a payment and the key of a window, at an endpoint that sells windows. */
function both(subscriptions: SubscriptionStore, given: Given = {}) {
  return oneCall({
    paid: {},
    payload: IDENTIFIED,
    ...given,
    endpoint: { periodMs: 60_000, ...given.endpoint },
    request: { subscriptionKey: KEY, proof: BAD_PROOF, ...given.request },
    world: { subscriptions, ...given.world },
  })
}

const ASIDE = {
  payload: undefined,
  read: undefined,
  payer: undefined,
  txId: undefined,
  request: { payment: { kind: 'none' }, proof: { kind: 'none' }, subscriptionKey: KEY },
}

async function admitted(...given: Parameters<typeof both>) {
  const it = both(...given)
  const { answer } = await it.ended(admit)
  return { ...it, answer, owned: ownedBy(it.world, it.call, keyOfCall(it.world.rules, it.call).key) }
}

it('a payment without the key of a window asks no store of windows', async () => {
  const asked: string[] = []
  const subscriptions = { get: (id: string) => void asked.push(id) } as unknown as SubscriptionStore
  const { answer, call } = await admitted(subscriptions, { request: { subscriptionKey: undefined } })
  expect([answer, asked, call.payment.txId]).toEqual(['admitted', [], 'TX'])
})

describe('a payment beside the key of an open window', () => {
  it('is set aside, with all that was read in it and said about it', async () => {
    const { answer, call } = await admitted(storing(OPEN))
    expect(answer).toBe('admitted')
    expect(fieldsOf(call)).toMatchObject(ASIDE)
    expect(call.request).toMatchObject({ baseUrl: 'http://agent.test', body: { kind: 'none' } })
  })

  it('is set aside where it cannot be read, or is none', async () => {
    for (const given of [
      { paid: 'unreadable' },
      { request: { payment: { kind: 'malformed', why: 'no JSON' } } },
    ] as const) {
      const { answer, call } = await admitted(storing(OPEN), given)
      expect(answer).toBe('admitted')
      expect(fieldsOf(call)).toMatchObject(ASIDE)
    }
  })

  it('is set aside while the window has a call left, and takes none', async () => {
    const { subscriptions } = oneCall().world
    void subscriptions.putIfAbsent!(ID, { ...OPEN, callsLeft: 1 })
    const it = await admitted(subscriptions)
    expect(fieldsOf(it.call)).toMatchObject(ASIDE)
    expect(await subscriptions.get(ID)).toMatchObject({ callsLeft: 1 })
  })

  it('is set aside by the time of the store, where that has one', async () => {
    const asked = (nowMs: number) =>
      admitted({ ...storing(OPEN), get: async () => OPEN, now: async () => nowMs } as SubscriptionStore)
    expect(fieldsOf((await asked(OPEN.expiresAtMs - 1)).call)).toMatchObject(ASIDE)
    expect((await asked(OPEN.expiresAtMs)).call.payment.txId).toBe('TX')
  })

  const replay = { onLostResponse: 'replay' } as const
  it.each<[string, Given, string | undefined]>([
    ['none, where the payment alone names one', {}, undefined],
    ['the header’s', { request: { idempotencyKey: 'own' }, payload: PAYLOAD }, 'own'],
    ['the header’s, where the payment names another', { request: { idempotencyKey: 'own' } }, 'own'],
    ['the task’s', { request: { task: 'id' } }, 'task:id'],
    [
      'none, where the payment’s is malformed',
      { payload: { extensions: { [PAYMENT_IDENTIFIER]: { info: { id: 'short' } } } } },
      undefined,
    ],
    [
      'none, where payments need one',
      { payload: PAYLOAD, rules: { idempotency: { ...replay, required: true } } },
      undefined,
    ],
  ])('leaves the call the key that it has without it: %s', async (_, given, key) => {
    const { call, world } = await admitted(storing(OPEN), given)
    expect({ problem: undefined, key: undefined, ...keyOfCall(world.rules, call) }).toEqual({
      key,
      problem: undefined,
    })
  })

  it('leaves the claim to the window, or to nobody', async () => {
    const keyed = await admitted(storing(OPEN), { request: { idempotencyKey: 'own' }, payload: PAYLOAD })
    const bare = oneCall({
      endpoint: { periodMs: 60_000 },
      request: { subscriptionKey: KEY, idempotencyKey: 'own' },
    })
    const own = ownedBy(bare.world, bare.call, bare.call.holds.key)!
    expect(keyed.owned).toEqual({ ...own, hold: { ...own.hold, token: keyed.call.id } })
    expect(keyed.owned!.hold.payment).toBeUndefined()
    expect((await admitted(storing(OPEN))).owned).toBeUndefined()
  })

  it('is counted as a call of the window, and its address is not', async () => {
    const rate = { terms: perMinute(1), per: 'payer', bucket: '' } as const
    const { answer, world, call } = await admitted(storing(OPEN), { endpoint: { rate } })
    expect([answer, call.holds.countedUnder]).toEqual(['admitted', undefined])
    const full = async (name: string) => !(await world.rateLimit.peek(name, perMinute(1))).admitted
    expect(await full(`window:${ID}`)).toBe(true)
    expect(await full('address:192.0.2.7')).toBe(false)
  })
})

describe('the key of a window that covers nothing', () => {
  const untouched = { payload: IDENTIFIED, payer: 'PAYER', txId: 'TX', key: IDENTIFIER }

  it.each<[string, ReturnType<typeof storing>]>([
    ['was never sold', storing(undefined)],
    ['has ended', storing({ ...OPEN, expiresAtMs: START_MS })],
    ['has no calls left', storing({ ...OPEN, callsLeft: 0 })],
    ['is of another endpoint', storing({ ...OPEN, endpoint: 'other' })],
    [
      'was sold by another agent of the seller',
      storing(OPEN, windowId(JSON.stringify([ownerOf(TESTNET, SELLER, 'sister').agent, 'work']), KEY)),
    ],
  ])('as if it had not come, where it %s: the payment counts, and so does its proof', async (_, store) => {
    const { answer, call, owned } = await admitted(store)
    expect(answer).toBe('admitted')
    expect(fieldsOf(call)).toMatchObject(untouched)
    expect(call.request).toMatchObject({ payment: { kind: 'read' }, proof: BAD_PROOF })
    expect(call.request.subscriptionKey).toBeUndefined()
    expect(owned!.hold).toMatchObject({ slot: 'PAYER', payment: 'TX' })
  })

  it('leaves the payment to be counted under its address', async () => {
    const rate = { terms: perMinute(1), per: 'payer', bucket: '' } as const
    const { call, world } = await admitted(storing(undefined), { endpoint: { rate } })
    expect(call.holds.countedUnder).toBe('address:192.0.2.7')
    expect(await world.rateLimit.peek(`window:${ID}`, perMinute(1))).toEqual({ admitted: true })
  })
})

describe('the key of a window that has ended, beside a payment', () => {
  const OWN_KEY = 'a random key of more than 32 characters'
  const BESIDE: Opening = {
    key: OWN_KEY,
    paid: {},
    endpoint: { periodMs: 60_000 },
    call: { endedKey: KEY },
  }
  const opensWindow = async () =>
    claimOf({ key: OWN_KEY, endpoint: { periodMs: 60_000 }, request: { subscriptionKey: KEY } })
  const OPENED = { verdict: 'opened' } as const

  it('may have covered this very call: that is asked first, and given back where nothing lies there', async () => {
    const { answer, call, moves, closes, pending } = await opened(BESIDE)
    expect(answer).toBe('opened')
    expect(moves).toHaveLength(2)
    expect(moves[0]!.claim).toEqual(await opensWindow())
    expect(moves[0]!.payment).toBeUndefined()
    expect(moves[0]!.token).not.toBe(call.id)
    const { slot, token, claim } = moves[0]!
    expect(closes).toMatchObject([{ how: 'release', retentionMs: 0, slot, token, claim }])
    expect(moves[1]).toMatchObject({
      token: call.id,
      payment: 'TX',
      claim: await claimOf({ ...BESIDE, call: {} }),
    })
    expect(fieldsOf(call)).toMatchObject({ held: true, txId: 'TX', key: OWN_KEY })
    expect(pending).toEqual([])
  })

  it.each<[string, Opened]>([
    ['inProgress', { verdict: 'inProgress', retryAfterMs: 5 }],
    ['reused', { verdict: 'reused' }],
    ['notKept', { verdict: 'notKept', txId: undefined }],
  ] as never)(
    'covered it: the call is the window’s, and its payment is not taken: %s',
    async (answer, says) => {
      const it = await opened({ ...BESIDE, says })
      expect(it.answer).toBe(answer)
      const claim = await opensWindow()
      expect(it.moves.map(move => move.claim)).toEqual([claim, claim])
      expect(it.moves.map(({ payment }) => payment)).toEqual([undefined, undefined])
      expect(it.closes).toEqual([])
      expect(fieldsOf(it.call)).toMatchObject({ ...ASIDE, key: OWN_KEY, held: false })
    },
  )

  it.each<[string, Opening['says']]>([
    ['is silent', new Error('down')],
    ['is full', { verdict: 'full' }],
  ])('is no reason to charge while nobody knows, because the store %s', async (_, says) => {
    const { answer, call, moves } = await opened({ ...BESIDE, says: says! })
    expect(answer).toBe('storeDown')
    expect(fieldsOf(call)).toMatchObject({ held: false, problem: { code: 'store_unavailable' } })
    expect(moves).toHaveLength(1)
  })

  it('is given back later where the store does not answer that', async () => {
    const { answer, moves, pending } = await opened({ ...BESIDE, isStuck: true })
    expect(answer).toBe('opened')
    const { slot, token, claim } = moves[0]!
    expect(pending).toMatchObject([{ how: 'release', retentionMs: 0, slot, token, claim }])
  })

  it('is not asked for without a key: no answer lies there', async () => {
    const { key: _, ...unkeyed } = BESIDE
    const { answer, moves } = await opened({ ...unkeyed, says: OPENED })
    expect(answer).toBe('opened')
    expect(moves).toMatchObject([{ payment: 'TX' }])
  })
})

describe('a store of windows that is down', () => {
  it('admits nothing: neither is the payment taken nor the window', async () => {
    const rate = { terms: perMinute(1), per: 'payer', bucket: '' } as const
    const { answer, call, world, said } = await admitted(DOWN, { endpoint: { rate } })
    expect(answer).toBe('storeDown')
    expect(fieldsOf(call)).toMatchObject({
      problem: { code: 'store_unavailable' },
      retryAfterMs: 2_000,
      txId: 'TX',
      request: { subscriptionKey: KEY },
    })
    expect(said).toEqual(['the subscription store did not answer'])
    expect(await world.rateLimit.peek('address:192.0.2.7', perMinute(1))).toEqual({ admitted: true })
  })

  it.each<[string, Given, object]>([
    ['no payment', { request: { payment: { kind: 'none' } } }, { request: { subscriptionKey: KEY } }],
    ['no key', { request: { subscriptionKey: undefined } }, { txId: 'TX' }],
  ])('is not asked for a call with %s', async (_, given, left) => {
    const { answer, call } = await admitted(DOWN, given)
    expect(answer).toBe('admitted')
    expect(fieldsOf(call)).toMatchObject(left)
  })

  it('is not asked by a process that is leaving', async () => {
    const stop = { draining: () => true } as ChargeDeps['stop']
    expect((await admitted(DOWN, { world: { stop } })).answer).toBe('draining')
  })
})

describe('the whole call', () => {
  function called(store: SubscriptionStore) {
    let charged = 0
    const count = () => Promise.reject(new Error(`asked ${++charged} times`))
    const it = both(store, {
      def: { price: undefined, subscription: { price: '$0.01', period: '1h' } } as never,
      request: { body: { kind: 'read', value: {} } },
      world: {
        facilitator: { supported: () => undefined, verify: count, settle: count } as never,
        store: new Proxy({}, { get: () => count }) as never,
        logger: { debug() {}, info() {}, warn() {}, error() {} } as never,
      },
    })
    const charge = createCharge(it.world, [], { enter() {}, leave() {} })
    return { ended: it.ended(() => charge.call('work', it.request)), charged: () => charged }
  }

  it('is served by the window: nobody is asked about the payment, and its bad proof harms nothing', async () => {
    const { ended, charged } = called(storing(OPEN))
    expect((await ended).answer).toMatchObject({ final: 'served' })
    expect(charged()).toBe(0)
  })

  it('is quoted, and not charged, where the window ends in between', async () => {
    let asked = 0
    const { ended, charged } = called({
      get: () => (asked++ === 0 ? OPEN : undefined),
    } as unknown as SubscriptionStore)
    expect((await ended).answer).toMatchObject({ final: 'quoted' })
    expect({ asked, charged: charged() }).toEqual({ asked: 2, charged: 0 })
  })
})
