/** What a purchase books, reports and returns, by what its delivery brought back. */
import { describe, expect, it } from 'vitest'
import type { HttpReply } from '../../src/app/client/http-reply.js'
import { fewerCalls, type PurchaseDeps, purchase } from '../../src/app/client/purchase.js'
import { challengeOf } from '../../src/app/client/read-quote.js'
import type { Delivery } from '../../src/app/client/send-with-retries.js'
import { TESTNET } from '../../src/domain/network.js'
import { encodeHeader } from '../../src/domain/x402.js'
import { systemClock } from '../../src/ports/clock.js'
import { systemRandom } from '../../src/ports/random.js'
import { gate } from '../support/gate.js'
import { failed, OTHERS, OURS, replay, reply, signed } from '../support/seller-replies.js'
import vectors from '../vectors/payments.json' with { type: 'json' }

const [vector] = vectors.payments
const { amount, asset } = vector!.facilitatorBody.paymentRequirements
const delivered = (of: HttpReply | undefined, everLost = false): Delivery => ({
  ...(of ? { reply: of } : { cause: 'reset' }),
  attempts: 1,
  everLost,
})

/** Buys once, with this delivery for an answer, and says what was booked. */
async function bought(
  delivery: Delivery,
  {
    landed = false,
    over = {} as Partial<PurchaseDeps>,
    signal = undefined as AbortSignal | undefined,
    finishPaid = false,
    headers = {} as Record<string, string>,
    challenge = challengeOf(reply(402, { 'PAYMENT-REQUIRED': vector!.paymentRequiredHeader })),
  } = {},
) {
  const booked: string[] = []
  const updates: object[] = []
  const reservation = {
    attach: async () => void booked.push('attached'),
    settle: async (end: string) => void booked.push(end),
    release: async () => void booked.push('released'),
  }
  const deps = {
    network: TESTNET,
    signer: { address: 'P', sign: async () => signed },
    limits: { reserve: async () => reservation },
    receipts: { sent: () => {}, update: (_: string, change: object) => updates.push(change) },
    strictResource: false,
    timeoutMs: 60_000,
    clock: systemClock,
    random: systemRandom,
    deliver: async () => delivery,
    async landed() {
      booked.push('looked up')
      return landed
    },
    ...over,
  } as unknown as PurchaseDeps
  const request = { url: new URL('https://agent.example/a'), method: 'POST', headers, signal, finishPaid }
  const outcome = await purchase(request, challenge, deps).then(
    result => ({ result, error: undefined }),
    error => ({ result: undefined, error }),
  )
  return { ...outcome, booked, updates }
}

const keyed = { headers: { 'Idempotency-Key': 'order-7' } }
const OUR_PAYMENT = { txId: OURS, amount, asset, usd: Number(amount) / 1e6 }

describe('a purchase', () => {
  it('without a receipt stays open, and looks nothing up: only the chain ends what a seller may still submit', async () => {
    const { result, booked, updates } = await bought(delivered(reply(200)))
    expect(result?.payment).toEqual(OUR_PAYMENT)
    expect(result?.warnings.slice(-1)).toEqual([
      { code: 'receipt_missing', message: 'The answer came without a readable receipt' },
    ])
    expect(booked).toEqual(['attached'])
    expect(updates).toEqual([{ charged: 'yes', status: 200 }])
  })

  it('that is made again sends the payment that it has, and after a refusal says that it may be charged', async () => {
    let signings = 0
    const kept: unknown[] = []
    const slot: NonNullable<PurchaseDeps['slot']> = { keep: async ready => void kept.push(ready) }
    const sign = async () => {
      signings++
      return signed
    }
    const over = { slot, signer: { address: 'P', sign } } as unknown as Partial<PurchaseDeps>
    const first = await bought(delivered(reply(400)), { over })
    expect(first.error.detail).toMatchObject({ charged: 'no' })
    const again = await bought(delivered(reply(400)), { over })
    expect(again.error.detail).toMatchObject({ charged: 'maybe', txId: first.error.detail.txId })
    expect([signings, kept.length, again.booked.includes('attached')]).toEqual([1, 1, false])
  })

  it('of a request that the quote refuses reserves and signs nothing', async () => {
    const quote = challengeOf(reply(402, { 'PAYMENT-REQUIRED': vector!.paymentRequiredHeader }))!
    const input = { type: 'http', method: 'PUT' }
    const challenge = {
      ...quote,
      resource: { url: 'https://agent.example/a' },
      extensions: { bazaar: { info: { input } } },
    }
    const { error, booked, updates } = await bought(delivered(reply(200)), { challenge })
    expect(error).toMatchObject({ code: 'invalid_request' })
    expect([booked, updates]).toEqual([[], []])
  })

  it('holds the key of a window, as asked for or as a guess, and no error shows it', async () => {
    const headers = { 'x-svc-subscription': 'svc_secret', 'x-svc-subscription-remaining': '2' }
    for (const wanted of [undefined, 'call', 'window'] as const) {
      const held: unknown[] = []
      const hold = (url: URL, sold: { key: string }, { isGuess }: { isGuess: boolean }) => {
        held.push([sold, isGuess])
        return { url: url.href, key: sold.key, remaining: 2 }
      }
      const over = { wanted, keys: { hold } } as unknown as Partial<PurchaseDeps>
      const torn = { ...delivered(undefined, true), torn: reply(200, headers) }
      const { error } = await bought(torn, { over })
      expect(held).toEqual([[{ key: 'svc_secret', remaining: 2 }, wanted !== 'window']])
      expect(error.detail.subscription).toEqual({ url: 'https://agent.example/a', remaining: 2 })
    }
    const { error } = await bought(delivered(undefined, true))
    expect('subscription' in error.detail).toBe(false)
  })

  it('warns of fewer calls than were sold, in the words that were found for it', () => {
    expect(fewerCalls(undefined)).toEqual([])
    expect(fewerCalls('2 of 3')).toEqual([{ code: 'fewer_calls_than_sold', message: '2 of 3' }])
  })

  it('that fails tells its key where the quote says that the seller keeps it', async () => {
    const quote = challengeOf(reply(402, { 'PAYMENT-REQUIRED': vector!.paymentRequiredHeader }))!
    for (const keeps of [true, false]) {
      const challenge = { ...quote, extensions: keeps ? { 'payment-identifier': {} } : {} }
      const { error } = await bought(delivered(undefined, true), { ...keyed, challenge })
      expect(error.detail.charged).toBe('maybe')
      expect(error.detail.idempotencyKey).toBe(keeps ? 'order-7' : undefined)
    }
  })

  it('warns of a key of the caller’s that the quote does not offer to keep, unless the answer is a replay', async () => {
    const message = expect.stringContaining('this key may be charged again')
    const unkept = { code: 'idempotency_not_offered', message }
    expect((await bought(delivered(reply(200)), keyed)).result?.warnings).toContainEqual(unkept)
    expect((await bought(delivered(reply(200)))).result?.warnings).not.toContainEqual(unkept)
    expect((await bought(delivered(replay()), keyed)).result?.warnings).toEqual([])
  })

  it('tells of a replay by the payment of then, and keeps its own counted', async () => {
    const then = { txId: OTHERS, amount: '18446744073709551615', asset: '5' }
    const { result, booked, updates } = await bought(delivered(replay(then)), keyed)
    expect(result).toMatchObject({ replayed: true, payment: then, sentTxId: OURS })
    expect(result?.warnings).toEqual([])
    expect(booked).toEqual(['attached', 'looked up'])
    expect(updates).toEqual([{ charged: 'no', status: 200 }])
  })

  it.each<[object, object | undefined]>([
    [
      { txId: OTHERS, amount: '7', asset: '5' },
      { txId: OTHERS, amount: '7', asset: '5', usd: 0.000007 },
    ],
    [{ txId: OTHERS, amount: '7' }, { txId: OTHERS }],
    [{ txId: OTHERS, asset: '5' }, { txId: OTHERS }],
    [{ txId: OTHERS, amount: 'x7', asset: '5' }, { txId: OTHERS }],
    [{ txId: OTHERS, amount: '7x', asset: '5' }, { txId: OTHERS }],
    [{ txId: OTHERS, amount: '9'.repeat(21), asset: '5' }, { txId: OTHERS }],
    [{}, undefined],
  ])('reads of the payment of then what is readable: %j', async (receipt, payment) => {
    const { result } = await bought(delivered(replay(receipt)), keyed)
    expect(result?.replayed).toBe(true)
    expect(result?.payment).toEqual(payment)
  })

  it('knows no payment of then where the replay has no receipt', async () => {
    const { result } = await bought(delivered(replay()), keyed)
    expect(result).toMatchObject({ replayed: true })
    expect(result?.payment).toBeUndefined()
  })

  it('is charged for a replay of a key that it made itself, and says that the receipt is another’s', async () => {
    const then = { txId: OTHERS, amount: '1', asset }
    const { result, booked, updates } = await bought(delivered(replay(then)))
    expect(result).toMatchObject({ replayed: false, payment: OUR_PAYMENT })
    expect(result?.warnings.map(({ code }) => code)).toEqual(['receipt_mismatch', 'receipt_mismatch'])
    expect(booked).toEqual(['attached'])
    expect(updates).toEqual([{ charged: 'yes', status: 200 }])
  })

  it('whose receipt names it is booked as claimed, also beside an error and in the head of a torn answer', async () => {
    const receipt = { 'PAYMENT-RESPONSE': encodeHeader({ success: true, txId: OURS }) }
    for (const delivery of [
      delivered(reply(200, receipt)),
      delivered(reply(500, receipt)),
      { ...delivered(undefined, true), torn: reply(200, receipt) },
    ]) {
      const { booked, updates } = await bought(delivery)
      expect(booked).toEqual(['attached', 'claimed'])
      expect(updates).toMatchObject([{ charged: 'yes' }])
    }
  })

  it('whose own payment landed is no replay, whatever the seller calls it', async () => {
    const landed = { ...keyed, landed: true }
    const { result, booked, updates } = await bought(delivered(replay({ txId: OTHERS })), landed)
    expect(result).toMatchObject({ replayed: false, payment: OUR_PAYMENT })
    expect(result?.warnings).toContainEqual({
      code: 'receipt_mismatch',
      message: `The receipt names transaction ${OTHERS} instead of ${OURS}`,
    })
    expect(booked).toEqual(['attached', 'looked up', 'spent'])
    expect(updates).toEqual([{ charged: 'yes', status: 200 }])
  })

  it('without an answer is told as one that may have been charged', async () => {
    const { error, booked, updates } = await bought(delivered(undefined, true))
    // The quote does not offer keys: to send one again would pay again.
    expect(error).toMatchObject({
      code: 'network_error',
      detail: { cause: 'reset', charged: 'maybe', txId: OURS },
    })
    expect(error.detail).not.toHaveProperty('idempotencyKey')
    expect(booked).toEqual(['attached', 'looked up'])
    expect(updates.map(update => Object.entries(update))).toEqual([[['charged', 'maybe']]])
  })

  it('that failed but landed is booked as spent', async () => {
    const { error, booked, updates } = await bought(delivered(failed(500, 'broken')), { landed: true })
    expect(error).toBeDefined()
    expect(booked).toEqual(['attached', 'looked up', 'spent'])
    expect(updates).toEqual([{ charged: 'yes', status: 500 }])
  })

  it('that could not be signed gives the money back and sends nothing', async () => {
    const refused = new Error('the wallet said no')
    const signer = { address: 'P', sign: () => Promise.reject(refused) }
    const { error, booked } = await bought(delivered(reply(200)), { over: { signer } as never })
    expect(error).toBe(refused)
    expect(booked).toEqual(['released'])
  })

  it('that is given up while the ledger writes sends nothing, also where it would be finished', async () => {
    const giveUp = new AbortController()
    const sent: unknown[] = []
    const attach = async () => giveUp.abort()
    const over = {
      limits: { reserve: async () => ({ attach }) },
      deliver: async (request: unknown) => sent.push(request),
    }
    const { error } = await bought(delivered(reply(200)), {
      over: over as never,
      signal: giveUp.signal,
      finishPaid: true,
    })
    expect(error).toMatchObject({ code: 'aborted', message: expect.stringContaining('nothing was paid') })
    expect(sent).toEqual([])
  })

  it('that is given up while it is signed gives the money back, and says that nothing was paid', async () => {
    const never = gate()
    const giveUp = new AbortController()
    const signer = {
      address: 'P',
      sign() {
        giveUp.abort()
        return never.opened.then(() => signed)
      },
    }
    const { error, booked } = await bought(delivered(reply(200)), {
      over: { signer } as never,
      signal: giveUp.signal,
    })
    expect(error).toMatchObject({
      code: 'aborted',
      message: 'The call to https://agent.example was aborted; nothing was paid',
    })
    expect(booked).toEqual(['released'])
  })
})
