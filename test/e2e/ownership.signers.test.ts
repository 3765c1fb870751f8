/** Payers without a plain signature: several keys, other keys, a program. They get what they paid for, and nobody does in their name. */
import { describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import type { Sandbox } from '../../src/sandbox.js'
import { crossed } from '../support/combinations.js'
import { EVERY_DOOR } from '../support/doors.js'
import { fakeFacilitator, json } from '../support/fake-facilitator.js'
import { multisigPayer, type OtherSigner, programPayer, rekeyedPayer } from '../support/other-signers.js'
import {
  AWAY,
  DOUBT,
  HOME,
  inDoubt,
  KINDS,
  keyed,
  observed,
  ownershipWorld,
  randomKey,
  SHORT_KEY,
  settledReply,
} from '../support/ownership.js'
import { proving } from '../support/payer-proof.js'
import { quoteAt } from '../support/wallet.js'

const INPUT = { text: 'mine' }
const ASKS = { skill: 'work', input: INPUT }

const world = ownershipWorld()
const http = EVERY_DOOR.HTTP!
let runs = 0
const handler = () => ({ run: ++runs })
const ENDPOINTS = [
  defineEndpoint({ name: 'work', price: '$0.01', handler }),
  defineEndpoint({ name: 'window', subscription: { price: '$30', period: '1h' }, handler }),
  defineEndpoint({
    name: 'stream',
    price: '$0.01',
    stream: true,
    async *handler() {
      yield `run ${++runs}`
    },
  }),
]
const PRICES: Readonly<Record<string, bigint>> = { work: 10_000n, window: 30_000_000n, stream: 10_000n }

interface Kind {
  readonly payer: (sandbox: Sandbox) => OtherSigner | Promise<OtherSigner>
  /** Its signature is checked here. */
  readonly isProven?: boolean
  /** The sandbox's ledger runs no programs: a facilitator that settles nothing stands for it, and no balance tells. */
  readonly isPretended?: boolean
}

const SIGNERS: Readonly<Record<string, Kind>> = {
  'two of three keys': { payer: multisigPayer, isProven: true },
  'other keys': { payer: rekeyedPayer },
  'a program': { payer: programPayer, isPretended: true },
}

async function opened({ payer: make, isPretended }: Kind, kind: string) {
  runs = 0
  const { stores, renewed } = observed(world.STORES[kind]!())
  const pretended = isPretended ? await fakeFacilitator() : undefined
  const seller = await world.open(ENDPOINTS, {
    ...{ stores, idempotency: {}, ...DOUBT },
    ...(pretended && { facilitatorUrl: pretended.url }),
  })
  const quoting = await world.open(ENDPOINTS)
  const payer = await make(world.sandbox)
  const before = world.received()
  return {
    seller,
    payer,
    renewed,
    /** For a program: what the facilitator says of a payment that it is asked about. */
    says: (path: '/verify' | '/settle', reply: object) => {
      if (pretended) pretended.replies[path] = json(reply)
    },
    async paid(skill: string, key: object = {}) {
      const payment = payer.pays(await quoteAt(quoting, `/${skill}`))
      const ask = (...more: object[]) =>
        http(seller.url, { skill, input: INPUT, headers: Object.assign({}, payment, ...more) })
      if (pretended) pretended.replies['/settle'] = json(settledReply(payment, payer.address))
      return { payment, ask: (...more: object[]) => ask(key, ...more), bare: ask }
    },
    forged: async (skill: string) => payer.forged(await quoteAt(quoting, `/${skill}`)),
    expectEarned(skill: string) {
      expect(runs).toBe(1)
      // No ledger here runs programs.
      if (!pretended) expect(world.received() - before).toBe(PRICES[skill])
    },
  }
}

const PENDING = { success: false, errorReason: 'settlement_pending', transaction: '', network: '' }
const INVALID = { isValid: false, invalidReason: 'invalid_exact_avm_payload_signature' }

const CALLS = [
  ['an answer', 'work', 'none'],
  ['an answer under a short key', 'work', 'short'],
  ['an answer under a random key', 'work', 'random'],
  ['a stream', 'stream', 'none'],
  ['a stream under a random key', 'stream', 'random'],
  ['a window of $30 under a random key', 'window', 'random'],
] as const
const KEYS = { none: () => ({}), short: () => keyed(SHORT_KEY), random: () => keyed(randomKey()) }

describe.each(KINDS)('on %s', kind => {
  describe.each(Object.entries(SIGNERS))('signed by %s', (name, signer) => {
    const at = [KINDS.indexOf(kind), Object.keys(SIGNERS).indexOf(name)]

    it.each(crossed(CALLS, ...at))('%s is not lost in doubt', async (_, skill, how) => {
      const { payer, says, paid, renewed, expectEarned, seller } = await opened(signer, kind)
      const { payment, ask } = await paid(skill, KEYS[how]())
      says('/settle', PENDING)
      expect((await inDoubt(seller, () => ask(HOME))).code).toBe('settlement_unknown')
      await renewed()
      // Who has neither the key nor the address finishes nothing.
      if (how !== 'random') expect((await ask(AWAY)).code).toBe('payment_in_use')
      says('/settle', settledReply(payment, payer.address))
      world.sandbox.faults.clear()
      const told = await ask(how === 'random' ? AWAY : HOME)
      expect(told).toMatchObject({ code: 'ok', replayed: true })
      expect(told.subscriptionKey === undefined).toBe(skill !== 'window')
      const again = await ask(HOME)
      expect([again.code, again.data, again.subscriptionKey]).toEqual(['ok', told.data, told.subscriptionKey])
      expect((await ask(AWAY)).code).toBe(how === 'random' ? 'ok' : 'payment_spent')
      expectEarned(skill)
    })

    it('a random key opens what was seen, and nothing else does', async () => {
      const { seller, payer, payment, ask, bare, expectEarned } = await boughtWindow()
      const first = await ask(HOME)
      expect(first).toMatchObject({ code: 'ok', replayed: false })
      expect(await ask(AWAY)).toMatchObject({ replayed: true, subscriptionKey: first.subscriptionKey })
      for (const key of [{}, keyed(SHORT_KEY), keyed(randomKey())])
        expect((await bare(HOME, key)).code).toBe('payment_spent')
      // One key of several is not the payer.
      const proof = proving(payer, seller.url, payment, { address: payer.address })
      expect((await ask(HOME, proof)).code).toBe('invalid_siwx_signature')
      expectEarned('window')
    })

    async function boughtWindow() {
      const world = await opened(signer, kind)
      return { ...world, ...(await world.paid('window', keyed(randomKey()))) }
    }

    it.each(crossed(['seen', 'in doubt'], ...at))(
      'a forged payment learns nothing of an answer that was %s',
      async state => {
        const { seller, payer, says, paid, renewed, forged, expectEarned } = await opened(signer, kind)
        const { payment, ask } = await paid('work', keyed(SHORT_KEY))
        if (state === 'seen') expect((await ask(HOME)).code).toBe('ok')
        else {
          says('/settle', PENDING)
          expect((await inDoubt(seller, () => ask(HOME))).code).toBe('settlement_unknown')
          await renewed()
          world.sandbox.faults.clear()
        }
        says('/verify', INVALID)
        const payments = await forged('work')
        expect(payments.length).toBeGreaterThan(1)
        for (const payment of payments) {
          const told = async (key: string) => {
            const headers = { ...payment, ...HOME, ...keyed(key) }
            const { code, status, challenge, problem } = await http(seller.url, { ...ASKS, headers })
            return [code, status, challenge?.error, problem]
          }
          const ofUsedKey = await told(SHORT_KEY)
          expect(ofUsedKey[0]).toBe('payment_required')
          expect(await told('order-8')).toEqual(ofUsedKey)
        }
        if (state === 'in doubt') {
          says('/settle', settledReply(payment, payer.address))
          expect(await ask(HOME)).toMatchObject({ code: 'ok', replayed: true })
        }
        expectEarned('work')
      },
    )

    it('a fresh payment with the same short key replays for a payer that is proven here', async () => {
      const { paid, expectEarned } = await opened(signer, kind)
      const key = keyed(SHORT_KEY)
      const first = await paid('work', key)
      expect((await first.ask(HOME)).code).toBe('ok')
      const fresh = await paid('work', key)
      if (signer.isProven) expect(await fresh.ask(AWAY)).toMatchObject({ code: 'ok', replayed: true })
      // Nobody else can know that it is the same payer: the key is another call's.
      else expect((await first.ask(AWAY)).code).toBe('payment_spent')
      expectEarned('work')
    })
  })
})
