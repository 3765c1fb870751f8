/** Which kept answers the store in memory opens to a bearer, and what it keeps under a payment's own name, beyond its contract. */
import { describe, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import type { OpenMove } from '../../src/ports/charge-store.js'

const LEASE_MS = 1_000
const LIFE_MS = 3_600_000

function answering(max = 500) {
  let nowMs = 5_000
  const store = memoryChargeStore({ clock: { now: Date.now, monotonic: () => nowMs }, max })
  const hold = (token: string, name = 'key', payment = 'tx') => ({
    slot: 's',
    token,
    payment,
    claim: { name, bodyHash: 'b' },
  })
  type Held = ReturnType<typeof hold> & { readonly claim: { readonly isOfPayment?: boolean } }
  const open = (held: Held, more: Partial<OpenMove> = {}) =>
    store.open({ ...held, leaseMs: LEASE_MS, ...more })
  const record = (held: Held, answer = 'paid', paymentTtlMs = LIFE_MS) =>
    store.record({
      ...held,
      recorded: {
        answer: Buffer.from(answer),
        payment: { txId: held.payment, firstValid: 1n, lastValid: 2n },
      },
      leaseMs: LEASE_MS,
      paymentTtlMs,
      claimTtlMs: 2 * LIFE_MS,
    })
  async function charged(held: Held, more: object = { how: 'complete' }, answer?: string) {
    await open(held)
    await record(held, answer)
    await store.close({ ...held, retentionMs: LIFE_MS, ...more } as never)
  }
  const advance = (ms: number) => {
    nowMs += ms
  }
  const asked = async (...given: Parameters<typeof open>) => {
    const opened = await open(...given)
    return opened.verdict === 'replayable' ? Buffer.from(opened.answer).toString() : opened.verdict
  }
  const ofPayment = (token: string, payment: string): Held => {
    const held = hold(token, `own ${payment}`, payment)
    return { ...held, claim: { ...held.claim, isOfPayment: true } }
  }
  return { store, hold, open, record, charged, advance, asked, ofPayment }
}

describe('a claim in doubt', () => {
  it('that was opened without an address opens to no bearer, with an address or without one', async () => {
    const { hold, open, record, advance, asked } = answering()
    await open(hold('dead'), { isBearer: true })
    await record(hold('dead'))
    advance(LEASE_MS)
    for (const more of [{}, { caller: 'here' }])
      expect(await asked(hold('stranger'), { isBearer: true, ...more })).toBe('inUse')
    expect(await asked(hold('owner'))).toBe('orphaned')
  })

  it('opens to no bearer after the record of its payment has ended', async () => {
    const { hold, open, record, advance, asked } = answering()
    await open(hold('dead'), { isBearer: true, caller: 'here' })
    await record(hold('dead'), 'paid', LEASE_MS)
    advance(LEASE_MS)
    expect(await asked(hold('a'), { isBearer: true, caller: 'here' })).toBe('unsure')
  })
})

describe('the name of a payment', () => {
  const forfeit = { how: 'forfeit', answerName: 'own' } as const

  it('has the answer that it got first: a later one does not replace it', async () => {
    const { hold, charged, asked } = answering()
    await charged(hold('a', 'own', 'first'), { how: 'complete' }, 'first')
    await charged(hold('b', 'key', 'second'), forfeit, 'second')
    expect(await asked(hold('c', 'own', 'first'))).toBe('first')
  })

  it('gets an answer only where its key was given up', async () => {
    for (const how of ['complete', 'release'] as const) {
      const { hold, charged, asked } = answering()
      await charged(hold('a'), { ...forfeit, how })
      expect(await asked(hold('b', 'own'))).toBe(how === 'complete' ? 'spent' : 'opened')
    }
  })

  it('goes where there are a hundred times as many without an answer as answers, the oldest first', async () => {
    const { hold, charged, asked } = answering(1)
    for (let at = 0; at <= 101; at++) await charged(hold(`t${at}`, `key-${at}`, `tx-${at}`))
    expect(await asked(hold('late', 'key-0', 'new'))).toBe('opened')
    expect(await asked(hold('late', 'key-1', 'newer'))).toBe('notKept')
  })

  it('stays without its answer', async () => {
    const { charged, asked, ofPayment } = answering(1)
    await charged(ofPayment('a', 'tx-1'), undefined, 'one')
    await charged(ofPayment('b', 'tx-2'), undefined, 'two')
    expect(await asked(ofPayment('c', 'tx-1'))).toBe('notKept')
    expect(await asked(ofPayment('c', 'tx-2'))).toBe('two')
  })

  it('takes no room from a key with an answer that lost its own', async () => {
    const { hold, charged, asked } = answering(1)
    await charged(hold('a', 'key-1', 'tx-1'), undefined, 'one')
    await charged(hold('b', 'key-2', 'tx-2'), forfeit, 'two')
    expect(await asked(hold('c', 'own', 'tx-2'))).toBe('two')
    expect(await asked(hold('c', 'key-1', 'tx-1'))).toBe('one')
  })

  it('takes no room from a key, nor a key from it: there are as many of each', async () => {
    const { hold, charged, asked, ofPayment } = answering(1)
    await charged(hold('a', 'key-1', 'tx-1'), undefined, 'keyed')
    for (const at of [2, 3]) await charged(ofPayment(`b${at}`, `tx-${at}`), undefined, 'own')
    expect(await asked(hold('c', 'key-1', 'tx-9'))).toBe('keyed')
    await charged(hold('d', 'key-4', 'tx-4'))
    expect(await asked(ofPayment('e', 'tx-3'))).toBe('own')
    // The key keeps its name: it is not charged again.
    expect(await asked(hold('f', 'key-1', 'tx-9'))).toBe('notKept')
  })
})
