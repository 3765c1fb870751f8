/**
 * Who asks, and what is kept: each kind of caller asks for each kind of answer, on memory and on a real Redis, through every door.
 * The ledger says what moved.
 */
import { describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { crossed } from '../support/combinations.js'
import { EVERY_DOOR, type TestDoor, type Told } from '../support/doors.js'
import {
  AWAY,
  HOME,
  KINDS,
  keyed,
  type MakeStores,
  type OwnedSeller,
  ownershipWorld,
  payAndLose,
  randomKey,
  SHORT_KEY,
} from '../support/ownership.js'
import { forgedPayment, type ProofHeader, proving } from '../support/payer-proof.js'
import { type PaymentHeader, signFor } from '../support/seller.js'

const PRICE = 10_000n
const ASKED = { text: 'mine' }

const world = ownershipWorld()
let runs = 0
const ENDPOINTS = [
  defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ run: ++runs }) }),
  defineEndpoint({
    name: 'window',
    subscription: { price: '$0.01', period: '1h' },
    handler: () => ({ run: ++runs }),
  }),
  defineEndpoint({
    name: 'counted',
    subscription: { price: '$0.01', period: '1h', calls: 3 },
    handler: () => ({ run: ++runs }),
  }),
  defineEndpoint({
    name: 'stream',
    price: '$0.01',
    stream: true,
    async *handler() {
      yield `run ${++runs}`
    },
  }),
]

/** What a caller is told, that was not charged: the answer again, or why not. */
type Gets = 'answer' | 'payment_spent' | 'payment_required' | 'answer_not_kept' | `invalid_siwx_${string}`

interface Kept {
  readonly skill: string
  readonly mode?: 'release' | 'replay'
  readonly key?: 'short' | 'random'
  readonly isLost?: boolean
}

/** What is kept, and what its owner is told without a proof: for the same bytes, and for a fresh payment with the same short key. */
const KEPT: Readonly<Record<string, readonly [kept: Kept, sameBytes: Gets, freshWithKey?: Gets]>> = {
  'the answer of a call without a key': [{ skill: 'work' }, 'payment_spent'],
  'a lost answer of a call without a key': [{ skill: 'work', isLost: true }, 'payment_spent'],
  'without a key, where others have keys': [{ skill: 'work', mode: 'release' }, 'payment_spent'],
  'under a short key': [{ skill: 'work', mode: 'release', key: 'short' }, 'payment_spent', 'answer'],
  'under a random key': [{ skill: 'work', mode: 'release', key: 'random' }, 'answer'],
  'lost under a short key': [{ skill: 'work', mode: 'release', key: 'short', isLost: true }, 'payment_spent'],
  'lost under a random key': [{ skill: 'work', mode: 'release', key: 'random', isLost: true }, 'answer'],
  'lost under a short key in replay mode': [
    { skill: 'work', mode: 'replay', key: 'short', isLost: true },
    'payment_spent',
    'answer',
  ],
  'under a random key in replay mode': [{ skill: 'work', mode: 'replay', key: 'random' }, 'answer'],
  'a window': [{ skill: 'window' }, 'payment_spent'],
  'a lost window': [{ skill: 'window', isLost: true }, 'payment_spent'],
  'a window under a short key': [
    { skill: 'window', mode: 'release', key: 'short' },
    'payment_spent',
    'answer',
  ],
  'a window under a random key': [{ skill: 'window', mode: 'replay', key: 'random' }, 'answer'],
  'a counted window': [{ skill: 'counted' }, 'payment_spent'],
  'a counted window under a random key': [{ skill: 'counted', mode: 'release', key: 'random' }, 'answer'],
  'a stream': [{ skill: 'stream' }, 'payment_spent'],
  'a stream under a random key': [{ skill: 'stream', mode: 'replay', key: 'random' }, 'answer'],
}

/** What was bought, by whom, and what it was answered with. */
interface Bought {
  readonly seller: OwnedSeller
  readonly door: TestDoor
  readonly skill: string
  readonly payment: PaymentHeader
  readonly key: Readonly<Record<string, string>>
  readonly owner: ReturnType<typeof world.payer>
  readonly told: Told | undefined
  /** Made once: each signature takes 15 ms. */
  readonly made: {
    readonly proof: ProofHeader
    readonly strangersProof: ProofHeader
    readonly forgedProof: ProofHeader
    readonly forgedPayment: PaymentHeader
  }
}

async function bought(
  { skill, mode, key, isLost = false }: Kept,
  door: TestDoor,
  stores: MakeStores,
): Promise<Bought> {
  const seller = await world.open(ENDPOINTS, {
    stores: stores(),
    ...(mode && { idempotency: { onLostResponse: mode } }),
  })
  const owner = world.payer()
  const by = ({ label }: { readonly label: string }) =>
    signFor(seller, `${seller.url}/${skill}`, { account: label, body: ASKED })
  const own = key === undefined ? {} : keyed(key === 'short' ? SHORT_KEY : randomKey())
  const stranger = world.payer()
  const payment = await by(owner)
  const ask = { skill, input: ASKED, headers: { ...payment, ...own, ...HOME } }
  const made = {
    proof: proving(owner, seller.url, payment),
    strangersProof: proving(stranger, seller.url, payment),
    forgedProof: proving(stranger, seller.url, payment, { address: owner.address }),
    forgedPayment: forgedPayment(await by(owner), await by(stranger)),
  }
  const common = { seller, door, skill, payment, key: own, owner, made }
  if (isLost) {
    await payAndLose(seller, door, ask, { payment, payer: owner.address })
    return { ...common, told: undefined }
  }
  const told = await door(seller.url, ask)
  expect(told).toMatchObject({ code: 'ok', replayed: false })
  return { ...common, told }
}

function asking({ seller, door, skill }: Bought) {
  return (...headers: readonly object[]) =>
    door(seller.url, { skill, input: ASKED, headers: Object.assign({}, ...headers) })
}

type Caller = (bought: Bought) => Promise<Told>

/** Those who saw the payment land, and all that they can make of it. */
const STRANGERS: Readonly<Record<string, readonly [caller: Caller, gets: Gets]>> = {
  'with the landed bytes': [one => asking(one)(one.payment, AWAY), 'payment_spent'],
  'with the landed bytes, from the buyer’s address': [one => asking(one)(one.payment, HOME), 'payment_spent'],
  'with the landed bytes and a guessed key': [
    one => asking(one)(one.payment, keyed(SHORT_KEY), AWAY),
    'payment_spent',
  ],
  'with the landed bytes and a key that nobody used': [
    one => asking(one)(one.payment, keyed('order-8'), AWAY),
    'payment_spent',
  ],
  'with the landed bytes and a random key of its own': [
    one => asking(one)(one.payment, keyed(randomKey()), AWAY),
    'payment_spent',
  ],
  'with the buyer’s name on a payment of its own': [
    one => asking(one)(one.made.forgedPayment, AWAY),
    'payment_required',
  ],
  'with the buyer’s name and a guessed key': [
    one => asking(one)(one.made.forgedPayment, keyed(SHORT_KEY), HOME),
    'payment_required',
  ],
  'with the buyer’s name and a key that nobody used': [
    one => asking(one)(one.made.forgedPayment, keyed('order-8'), HOME),
    'payment_required',
  ],
  'with a proof of its own account': [
    one => asking(one)(one.payment, one.key, one.made.strangersProof, AWAY),
    'invalid_siwx_request',
  ],
  'with a proof in the buyer’s name': [
    one => asking(one)(one.payment, one.key, one.made.forgedProof, AWAY),
    'invalid_siwx_signature',
  ],
}

function expectTold(told: Told, gets: Gets, { told: first }: Bought): void {
  expect(told.code).toBe(gets === 'answer' ? 'ok' : gets)
  if (gets !== 'answer')
    expect([told.data, told.subscriptionKey, told.receipt]).toEqual([undefined, undefined, undefined])
  else if (first) {
    const { data, subscriptionKey } = first
    expect(told).toMatchObject({ replayed: true, data })
    expect(told.subscriptionKey).toBe(subscriptionKey)
  } else expect(told.replayed).toBe(true)
}

const DOORS = Object.entries(EVERY_DOOR)
const CASES = Object.entries(KEPT)

describe.each(KINDS)('on %s', kind => {
  describe.each(DOORS)('through %s', (name, door) => {
    const cases = crossed(CASES, KINDS.indexOf(kind), Object.keys(EVERY_DOOR).indexOf(name))
    it.each(cases)('%s: its owner gets it, nobody else does, and it is paid for once', async (_, entry) => {
      const [kept, sameBytes, freshWithKey] = entry
      runs = 0
      const before = world.received()
      const one = await bought(kept, door, world.STORES[kind]!)
      const ask = asking(one)
      const strangersAsk = async () => {
        for (const [who, [caller, gets]] of Object.entries(STRANGERS)) {
          const told = await caller(one)
          expect([who, told.code]).toEqual([who, gets])
          expectTold(told, gets, one)
        }
        expect([runs, world.received() - before]).toEqual([1, PRICE])
      }
      await strangersAsk()
      expectTold(await ask(one.payment, one.key, HOME), sameBytes, one)
      expectTold(await ask(one.payment, one.key, one.made.proof, AWAY), 'answer', one)
      // A key that was not sent with the payment hides nothing from its payer, and opens nothing else.
      const other = await ask(one.payment, keyed(randomKey()), one.made.proof, HOME)
      expectTold(other, kept.key === undefined ? 'answer' : 'payment_spent', one)
      if (freshWithKey !== undefined) {
        const url = `${one.seller.url}/${one.skill}`
        const fresh = await signFor(one.seller, url, { account: one.owner.label, body: ASKED })
        expectTold(await ask(fresh, one.key, AWAY), freshWithKey, one)
      }
      await strangersAsk()
    })
  })
})
