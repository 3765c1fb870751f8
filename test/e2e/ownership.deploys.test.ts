/** A deploy between two requests of one call: whatever it changes, the same bytes get the same answer, and nothing is charged twice. */
import { describe, expect, it } from 'vitest'
import { defineEndpoint, type EndpointDef } from '../../src/index.js'
import { crossed } from '../support/combinations.js'
import { EVERY_DOOR } from '../support/doors.js'
import {
  AWAY,
  DOUBT,
  HOME,
  inDoubt,
  KINDS,
  keyed,
  land,
  type OwnedSeller,
  observed,
  ownershipWorld,
  randomKey,
  SHORT_KEY,
} from '../support/ownership.js'
import { proving } from '../support/payer-proof.js'
import { signFor } from '../support/seller.js'

const PRICE = 10_000n
const INPUT = { text: 'mine' }

type Options = NonNullable<Parameters<typeof world.open>[1]>
type Idempotency = Options['idempotency']

/** One version of the seller. */
interface Version {
  readonly price?: string
  readonly priceOf?: () => string
  readonly input?: object
  readonly period?: string
  readonly calls?: number
  /** The endpoint of the window sells single calls. */
  readonly sellsCalls?: boolean
  readonly idempotency?: Idempotency
  readonly options?: Options
}

const world = ownershipWorld()
let runs = 0

function endpointsOf(version: Version): readonly EndpointDef[] {
  const { price = '$0.01', priceOf, input, period = '1h', calls, sellsCalls } = version
  const shared = { ...(input && { input }), handler: () => ({ run: ++runs }) }
  const subscription = { price, period, ...(calls !== undefined && { calls }) }
  return [
    defineEndpoint({ name: 'work', price: priceOf ?? price, ...shared }),
    defineEndpoint({ name: 'window', ...(sellsCalls ? { price } : { subscription }), ...shared }),
  ]
}

const text = { type: 'object', required: ['text'], properties: { text: { type: 'string' } } }
const strict = { type: 'object', required: ['words'], properties: { words: { type: 'array' } } }

/** The version that sold, and the one that is asked. */
const DEPLOYS: Readonly<Record<string, readonly [before: Version, after: Version]>> = {
  'a higher price': [{}, { price: '$0.05' }],
  'a lower price': [{}, { price: '$0.001' }],
  'a price that is computed': [{}, { priceOf: () => '$0.02' }],
  'a schema, which the input meets': [{}, { input: text }],
  'a schema, which the input does not meet': [{ input: text }, { input: strict }],
  'the mode, from release to replay': [{}, { idempotency: { onLostResponse: 'replay' } }],
  'the mode, from replay to release': [
    { idempotency: { onLostResponse: 'replay' } },
    { idempotency: { onLostResponse: 'release' } },
  ],
  'how long answers are kept': [{}, { options: { keepAnswers: false }, idempotency: { windowMs: 1_000 } }],
  'how large a kept answer is': [{}, { idempotency: { maxAnswerBytes: 1 } }],
  'the spellings of the network': [{}, { options: { advanced: { networkIds: 'short' } } }],
  'that the chain confirms': [{}, { options: { confirm: 'chain', advanced: { timeouts: {} } } }],
  'the period of a window': [{}, { period: '1d' }],
  'that a window counts calls': [{}, { calls: 3 }],
  'the count of a window': [{ calls: 3 }, { calls: 7 }],
  'that a window has no count': [{ calls: 3 }, {}],
  'that single calls are sold': [{}, { sellsCalls: true }],
}

async function deployed([before, after]: readonly [Version, Version], kind: string) {
  const { stores, renewed } = observed(world.STORES[kind]!())
  // Each has a facilitator of its own.
  const open = ({ idempotency = {}, options, ...version }: Version) =>
    world.open(endpointsOf(version), { stores, idempotency, ...DOUBT, ...options })
  return { old: await open(before), next: await open(after), renewed }
}

/** A payment to the old version, and how its payer asks. */
async function paid(old: OwnedSeller, skill: string, key: object, door = EVERY_DOOR.HTTP!) {
  runs = 0
  const owner = world.payer()
  const payment = await signFor(old, `${old.url}/${skill}`, { account: owner.label, body: INPUT })
  const earlier = world.received()
  const ask = ({ url }: OwnedSeller, ...more: object[]) =>
    door(url, { skill, input: INPUT, headers: Object.assign({}, payment, key, HOME, ...more) })
  return {
    payment,
    ask,
    prove: (seller: OwnedSeller, ...more: object[]) =>
      ask(seller, proving(owner, seller.url, payment), ...more),
    paidOnce: () => expect([runs, world.received() - earlier]).toEqual([1, PRICE]),
  }
}

const WITHOUT_KEYS: Version = { options: { idempotency: undefined } }
const KEYS = [undefined, SHORT_KEY, randomKey()]
const SKILLS = ['work', 'window']
/** Of a place among the stores. */
const callsAt = (kind: number) =>
  KEYS.flatMap((key, at) =>
    crossed(SKILLS, kind, at).map(skill => ({ skill, key: key === undefined ? {} : keyed(key) })),
  )

describe.each(KINDS)('on %s', kind => {
  const CALLS = callsAt(KINDS.indexOf(kind))

  it.each(Object.entries(DEPLOYS))('%s changes no answer that was paid for', async (_, versions) => {
    const { old, next } = await deployed(versions, kind)
    for (const { skill, key } of CALLS) {
      const { ask, prove, paidOnce } = await paid(old, skill, key)
      const first = await ask(old)
      expect(first).toMatchObject({ code: 'ok', replayed: false })
      for (let again = 0; again < 2; again++) {
        const told = await prove(next)
        expect(told).toMatchObject({ code: 'ok', replayed: true, data: first.data })
        expect(told.subscriptionKey).toBe(first.subscriptionKey)
        expect(told.receipt).toMatchObject({ transaction: first.receipt!.transaction })
      }
      paidOnce()
    }
  })

  it.each(Object.entries(DEPLOYS))('%s changes no call in doubt', async (_, versions) => {
    const { old, next, renewed } = await deployed(versions, kind)
    for (const [at, { skill, key }] of CALLS.entries()) {
      const isLanded = at % 4 < 2 === (kind === 'memory')
      const { payment, ask, prove, paidOnce } = await paid(old, skill, key)
      expect((await inDoubt(old, () => ask(old))).code).toBe('settlement_unknown')
      await renewed()
      if (isLanded) await land(old, payment)
      world.sandbox.faults.clear()
      // A stock client has no proof: the same bytes from the same address are enough for an answer, and not for a window's key.
      const told = await (skill === 'work' ? ask(next) : prove(next))
      expect([at, isLanded, told]).toMatchObject([
        at,
        isLanded,
        { code: 'ok', replayed: true, data: { run: 1 } },
      ])
      expect(told.subscriptionKey === undefined).toBe(skill === 'work')
      const again = await prove(old)
      expect(again).toMatchObject({ code: 'ok', replayed: true, data: { run: 1 } })
      expect(again.subscriptionKey).toBe(told.subscriptionKey)
      paidOnce()
    }
  })

  it.each([undefined, 3])('from which on single calls are sold: windows of %s calls last', async calls => {
    const { old, next } = await deployed([{ calls }, { sellsCalls: true }], kind)
    const { ask, paidOnce } = await paid(old, 'window', {})
    const { subscriptionKey } = await ask(old)
    paidOnce()
    const before = world.received()
    for (const door of Object.values(EVERY_DOOR)) {
      const headers = { 'x-svc-subscription': subscriptionKey! }
      const isUsedUp = runs === calls
      const { code } = await door(next.url, { skill: 'window', input: INPUT, headers })
      expect(code).toBe(isUsedUp ? 'payment_required' : 'ok')
    }
    expect([runs, world.received() - before]).toEqual([calls ?? 1 + Object.keys(EVERY_DOOR).length, 0n])
  })

  it('from which on keys are required: their payers give any', async () => {
    const { old, next } = await deployed([{}, { idempotency: { required: true } }], kind)
    for (const skill of SKILLS) {
      const { ask, prove, paidOnce } = await paid(old, skill, {})
      const first = await ask(old)
      expect((await prove(next)).code).toBe('idempotency_key_required')
      const told = await prove(next, keyed(randomKey()))
      expect(told).toMatchObject({ code: 'ok', replayed: true, data: first.data })
      expect(told.subscriptionKey).toBe(first.subscriptionKey)
      paidOnce()
    }
  })

  it.each([false, true])(
    'from which on keys count: what was in doubt needs no proof, as before; in doubt: %s',
    async isInDoubt => {
      const { old, next, renewed } = await deployed([WITHOUT_KEYS, {}], kind)
      for (const { skill, key } of CALLS) {
        const { payment, ask, prove, paidOnce } = await paid(old, skill, key)
        const first = await (isInDoubt ? inDoubt(old, () => ask(old)) : ask(old))
        expect(first.code).toBe(isInDoubt ? 'settlement_unknown' : 'ok')
        if (isInDoubt) {
          await renewed()
          await land(old, payment)
          world.sandbox.faults.clear()
        }
        const unproven = { code: isInDoubt && skill === 'work' ? 'ok' : 'payment_spent' }
        for (let again = 0; again < 2; again++) {
          expect([skill, key, await ask(next)]).toMatchObject([skill, key, unproven])
          expect((await ask(next, AWAY)).code).toBe('payment_spent')
          expect(await prove(next)).toMatchObject({ code: 'ok', replayed: true, data: { run: 1 } })
        }
        paidOnce()
      }
    },
  )

  it.each([false, true])('from which on no key counts; in doubt before: %s', async isInDoubt => {
    const { old, next, renewed } = await deployed([{}, WITHOUT_KEYS], kind)
    for (const { skill, key } of CALLS) {
      const { payment, ask, prove, paidOnce } = await paid(old, skill, key)
      await (isInDoubt ? inDoubt(old, () => ask(old)) : ask(old))
      if (isInDoubt) {
        await renewed()
        await land(old, payment)
        world.sandbox.faults.clear()
      }
      for (let again = 0; again < 2; again++)
        expect(await prove(next)).toMatchObject({ code: 'ok', replayed: true, data: { run: 1 } })
      paidOnce()
    }
  })

  it.each(Object.entries(EVERY_DOOR))('the price, through %s', async (_, door) => {
    const { old, next } = await deployed([{}, { price: '$0.05' }], kind)
    for (const { skill, key } of CALLS) {
      const { ask, prove, paidOnce } = await paid(old, skill, key, door)
      expect((await ask(old)).code).toBe('ok')
      expect(await prove(next)).toMatchObject({ code: 'ok', replayed: true, data: { run: 1 } })
      paidOnce()
    }
  })
})
