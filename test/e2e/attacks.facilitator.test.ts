/**
 * A facilitator that errs, lies, dies or dawdles. For each way: an answer leaves only if the money moved, "not charged" is
 * said only if it did not and never will, and what is not known is said to be not known.
 */
import { describe, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { defineEndpoint, type ServeOptions } from '../../src/index.js'
import type { FaultName } from '../../src/sandbox.js'
import { closing } from '../support/closing.js'
import { endless, fakeFacilitator, json } from '../support/fake-facilitator.js'
import { metFault } from '../support/met-fault.js'
import { ask, challengeIn, open as openSelling, receiptIn, type Seller, signFor } from '../support/seller.js'
import { skippableClock } from '../support/skippable-clock.js'

/** Whatever is asked, what comes back says nothing. */
const NO_ANSWER = ['hang', 'reset', '500', 'html', 'truncated', 'huge', '429', 'redirect'] as const
/** Broken spellings of yes. */
const NO_YES = ['string-true', 'one'] as const

let runs = 0
const endpoint = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ run: ++runs }) })

/** Longer than any step may take. It passes where a test says so: a busy machine reaches none of its ends. */
const CERTAINTY_MS = 60_000

async function open({
  advanced,
  ...options
}: Partial<ServeOptions> = {}): Promise<Seller & Pick<ReturnType<typeof skippableClock>, 'pass'>> {
  runs = 0
  const { clock, pass } = skippableClock()
  const limits = { verifyMs: 30_000, settleMs: 30_000, certaintyMs: CERTAINTY_MS }
  const timeouts = { ...limits, reconcilePauseMs: 50, leaseMs: 2 * CERTAINTY_MS }
  const seller = await openSelling([endpoint], { ...options, advanced: { timeouts, clock, ...advanced } })
  return { ...seller, pass }
}

const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc

describe('verify', () => {
  const outages: FaultName[] = [...NO_ANSWER, ...NO_YES]
  for (const fault of outages) {
    it(`${fault}: 503 with Retry-After, no quote, no run, and the same payment is good afterwards`, async () => {
      const seller = await open()
      const payment = await signFor(seller, `${seller.url}/work`)
      const met = metFault(seller.sandbox, 'verify', fault)
      const asked = ask(`${seller.url}/work`, { headers: payment })
      await met()
      if (fault === 'hang') seller.pass(CERTAINTY_MS)
      const response = await asked
      expect(response.status).toBe(503)
      expect(response.headers.get('payment-required')).toBeNull()
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(await response.json()).toMatchObject({ error: { code: 'facilitator_unavailable' } })
      expect([runs, received(seller)]).toEqual([0, 0n])
      seller.sandbox.faults.clear()
      expect((await ask(`${seller.url}/work`, { headers: payment })).status).toBe(200)
      expect([runs, received(seller)]).toEqual([1, 10_000n])
    })
  }

  it('a refusal is a 402 that says why', async () => {
    const seller = await open()
    const payment = await signFor(seller, `${seller.url}/work`)
    seller.sandbox.faults.set('verify', 'refuse')
    const response = await ask(`${seller.url}/work`, { headers: payment })
    expect(response.status).toBe(402)
    expect(challengeIn(response).error).toBe('refused_by_sandbox_fault')
    expect(runs).toBe(0)
  })

  it('a lie about a payment that cannot settle ends without an answer', async () => {
    const seller = await open()
    const payment = await signFor(seller, `${seller.url}/work`, { account: 'spender' })
    seller.sandbox.freeze(seller.sandbox.accounts('spender').address, true)
    seller.sandbox.faults.set('verify', 'lie')
    const response = await ask(`${seller.url}/work`, { headers: payment })
    expect(response.status).toBe(402)
    expect(await response.json()).toEqual({})
    expect(received(seller)).toBe(0n)
  })
})

describe('settle, once, and then the facilitator is well again', () => {
  const settledAnyway: FaultName[] = [...NO_ANSWER, ...NO_YES, 'die-before', 'die-after', 'late', 'pending']
  for (const fault of settledAnyway) {
    it(`${fault}: settled again or found on chain; one charge, one answer`, async () => {
      const seller = await open()
      const payment = await signFor(seller, `${seller.url}/work`)
      seller.sandbox.faults.set('settle', fault, { times: 1, delayMs: 100 })
      const asked = ask(`${seller.url}/work`, { headers: payment })
      await expect.poll(() => seller.sandbox.faults.list()).toEqual([])
      // The time of one attempt.
      if (fault === 'hang') seller.pass(CERTAINTY_MS / 2)
      const response = await asked
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({ run: 1 })
      expect(receiptIn(response).txId).toBe(seller.sandbox.transactions().at(-1)?.txId)
      expect(received(seller)).toBe(10_000n)
      expect((await ask(`${seller.url}/work`, { headers: payment })).status).toBe(409)
      expect(runs).toBe(1)
    })
  }

  it('refuse: nothing was submitted, so 402, no answer, and the same payment may be tried again', async () => {
    const seller = await open()
    const payment = await signFor(seller, `${seller.url}/work`)
    seller.sandbox.faults.set('settle', 'refuse', { times: 1 })
    expect((await ask(`${seller.url}/work`, { headers: payment })).status).toBe(402)
    expect(received(seller)).toBe(0n)
    expect((await ask(`${seller.url}/work`, { headers: payment })).status).toBe(200)
    expect(received(seller)).toBe(10_000n)
  })
})

describe('settle, and the facilitator stays that way', () => {
  const silent: FaultName[] = [...NO_ANSWER, 'die-before', 'pending']
  for (const fault of silent) {
    it(`${fault}: 503 settlement_unknown with the id; never "pay again", never the answer`, async () => {
      const seller = await open()
      const payment = await signFor(seller, `${seller.url}/work`)
      const met = metFault(seller.sandbox, 'settle', fault)
      const asked = ask(`${seller.url}/work`, { headers: payment })
      await met()
      seller.pass(CERTAINTY_MS)
      const response = await asked
      expect(response.status).toBe(503)
      expect(response.headers.get('payment-required')).toBeNull()
      const text = await response.text()
      expect(JSON.parse(text)).toMatchObject({
        error: { code: 'settlement_unknown', txId: expect.any(String) },
      })
      expect(text).not.toContain('"run"')
      // So does the last attempt, for which nobody waited.
      seller.pass(CERTAINTY_MS)
      seller.sandbox.faults.clear()
      const again = await ask(`${seller.url}/work`, { headers: payment })
      expect(again.headers.get('idempotency-replayed')).toBe('true')
      expect(await again.json()).toEqual({ run: 1 })
      expect([runs, received(seller)], 'the same bytes do not buy a second run').toEqual([1, 10_000n])
    })
  }

  it('string-true and one: settled behind a broken yes; the chain finds it', async () => {
    for (const fault of [...NO_YES, 'die-after'] as const) {
      const seller = await open()
      const payment = await signFor(seller, `${seller.url}/work`)
      seller.sandbox.faults.set('settle', fault)
      expect((await ask(`${seller.url}/work`, { headers: payment })).status).toBe(200)
      expect(received(seller)).toBe(10_000n)
    }
  })

  it('dead until the payment can no longer land: proven absent, 402, and never charged', async () => {
    const seller = await open({ advanced: { maxTimeoutSeconds: 28 } })
    const payment = await signFor(seller, `${seller.url}/work`)
    seller.sandbox.faults.set('settle', 'die-before')
    const answer = ask(`${seller.url}/work`, { headers: payment })
    await expect.poll(() => runs).toBe(1)
    seller.sandbox.advanceRounds(20)
    const response = await answer
    expect(response.status).toBe(402)
    expect(challengeIn(response).error).toMatch(/last valid round/)
    expect(received(seller)).toBe(0n)
  })
})

describe('a yes that is not what it seems', () => {
  for (const fault of ['other-tx', 'other-payer', 'other-network'] as const) {
    it(`${fault}: delivered, since the caller paid, and flagged for the seller`, async () => {
      const seller = await open()
      const payment = await signFor(seller, `${seller.url}/work`)
      seller.sandbox.faults.set('settle', fault)
      const response = await ask(`${seller.url}/work`, { headers: payment })
      expect(response.status).toBe(200)
      expect(receiptIn(response).txId).toBe(seller.sandbox.transactions().at(-1)?.txId)
      expect(seller.ended.at(-1)?.mismatch).toBe(
        { 'other-tx': 'transaction', 'other-payer': 'payer', 'other-network': 'network' }[fault],
      )
    })
  }

  it('lie: under `confirm: chain` an answer waits for the chain, and there is none', async () => {
    const trusting = await open()
    trusting.sandbox.faults.set('settle', 'lie')
    const believed = await signFor(trusting, `${trusting.url}/work`)
    expect((await ask(`${trusting.url}/work`, { headers: believed })).status).toBe(200)
    const seller = await open({ confirm: 'chain' })
    const met = metFault(seller.sandbox, 'settle', 'lie')
    const payment = await signFor(seller, `${seller.url}/work`)
    const asked = ask(`${seller.url}/work`, { headers: payment })
    await met()
    seller.pass(CERTAINTY_MS)
    const response = await asked
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ error: { code: 'settlement_unknown' } })
  })

  it('`confirm: chain` delivers what the chain has', async () => {
    const seller = await open({ confirm: 'chain' })
    const payment = await signFor(seller, `${seller.url}/work`)
    expect((await ask(`${seller.url}/work`, { headers: payment })).status).toBe(200)
    expect(received(seller)).toBe(10_000n)
  })
})

describe('a restart that forgot', () => {
  it('a payment that the chain already holds is 409 payment_spent, not a run and not a quote', async () => {
    const seller = await open()
    const payment = await signFor(seller, `${seller.url}/work`)
    expect((await ask(`${seller.url}/work`, { headers: payment })).status).toBe(200)
    const forgetful = closing(await seller.replica({ stores: {} }))
    const response = await ask(`${forgetful.url}/work`, { headers: payment })
    expect(response.status).toBe(409)
    expect(await response.json()).toMatchObject({
      error: { code: 'payment_spent', txId: expect.any(String) },
    })
    expect(runs).toBe(1)
  })
})

describe('a process that died between settling and saying so', () => {
  it('leaves a payment that is in use until its lease ends, and its answer once the chain has been asked', async () => {
    let laterMs = 0
    const store = memoryChargeStore({
      clock: { now: Date.now, monotonic: () => performance.now() + laterMs },
    })
    const charges = { ...store, close: async () => 'closed' as const }
    const seller = await open({ stores: { charges } })
    const payment = await signFor(seller, `${seller.url}/work`)
    expect((await ask(`${seller.url}/work`, { headers: payment })).status).toBe(200)
    const code = async () => (await (await ask(`${seller.url}/work`, { headers: payment })).json()) as object
    expect(await code()).toMatchObject({ error: { code: 'payment_in_use' } })
    laterMs = 2 * CERTAINTY_MS
    expect(await code()).toEqual({ run: 1 })
    expect([runs, received(seller)]).toEqual([1, 10_000n])
  })
})

describe('several facilitators', () => {
  it('verification moves on from one that is down; settlement goes to who verified, and to nobody else', async () => {
    const broken = json({}, 500)
    const dead = await fakeFacilitator({ '/supported': broken, '/verify': broken, '/settle': broken })
    const deaf = await fakeFacilitator({ '/settle': endless() })
    const third = await fakeFacilitator()
    const seller = await open({ facilitatorUrl: [dead.url, deaf.url, third.url] })
    const payment = await signFor(seller, `${seller.url}/work`)
    const asked = ask(`${seller.url}/work`, { headers: payment })
    await deaf.askedTimes('/settle', 1)
    seller.pass(CERTAINTY_MS)
    const response = await asked
    expect(response.status).toBe(503)
    const paths = (facilitator: typeof dead) =>
      facilitator.asked.map(({ path }) => path).filter(path => path !== '/supported')
    expect(paths(dead)).toEqual(['/verify'])
    expect(new Set(paths(deaf))).toEqual(new Set(['/verify', '/settle']))
    expect(paths(third)).toEqual([])
  })

  it('a plain http facilitator on a public host is refused at start', async () => {
    const start = (facilitatorUrl: string, allowHttp?: boolean) =>
      open({ facilitatorUrl, advanced: { allowHttp } })
    await expect(start('http://facilitator.example.com')).rejects.toMatchObject({
      code: 'invalid_facilitator',
    })
    await expect(start('http://facilitator.example.com', true)).resolves.toBeDefined()
  })
})
