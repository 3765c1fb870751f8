/** After the payment is signed: the same bytes again, at most, and never to anybody else. */
import { describe, expect, it } from 'vitest'
import type { ClientOptions } from '../../src/client.js'
import { encodeHeader } from '../../src/domain/x402.js'
import {
  ANSWER,
  distinctPayments,
  failure,
  fastRetry,
  honest,
  marketForFile,
  PRICE,
  PRICE_USD,
  type Script,
  type Seller,
  txIdIn,
} from './market.js'

const market = marketForFile()
/** Waited for in full, and long for a quote on a busy machine. */
const PATIENCE_MS = 2_000

/** Quotes, then answers payments by the step's script, the last one repeating. */
function paidSteps(...steps: Script[]): Script {
  return (seen, shop) => {
    if (!seen.payment) return shop.challenge(shop.entry())
    const count = shop.seen.filter(({ payment }) => payment !== undefined).length
    return steps[Math.min(count, steps.length) - 1]!(seen, shop)
  }
}

const sell: Script = (seen, shop) => shop.sell(seen.payment!)
const settleAndCut: Script = async (seen, shop) => {
  await shop.settle(seen.payment!)
  return 'cut' as const
}
const settleAndTear: Script = async (seen, shop) => {
  await shop.settle(seen.payment!)
  return 'torn' as const
}
const cut: Script = () => 'cut'
/** An error with our server's fields beside its code. */
const naming =
  (status: number, code: string): Script =>
  seen =>
    failure(status, code, { 'retry-after': '0' }, { txId: txIdIn(seen.payment!) })
const refuse: Script = (_, shop) => shop.challenge(shop.entry())

function differentKeys(seller: Seller): number {
  return new Set(seller.paid().map(({ headers }) => headers['idempotency-key'])).size
}

describe('one signed payment, whatever the seller does:', () => {
  const cases: [string, { paidRequests: number; spent: bigint; counted: number; code?: string }, Script][] = [
    ['the honest one', { paidRequests: 1, spent: PRICE, counted: PRICE_USD }, honest],
    [
      '402 after payment',
      { paidRequests: 1, spent: 0n, counted: PRICE_USD, code: 'call_failed' },
      paidSteps(refuse),
    ],
    [
      '402 after payment, having taken it',
      { paidRequests: 1, spent: PRICE, counted: PRICE_USD, code: 'call_failed' },
      paidSteps(async (seen, shop) => {
        await shop.settle(seen.payment!)
        return shop.challenge(shop.entry())
      }),
    ],
    [
      '400 after payment',
      { paidRequests: 1, spent: 0n, counted: PRICE_USD, code: 'call_failed' },
      paidSteps(() => failure(400, 'invalid_input')),
    ],
    [
      'endless 500',
      { paidRequests: 3, spent: 0n, counted: PRICE_USD, code: 'call_failed' },
      paidSteps(() => failure(500, 'handler_error')),
    ],
    [
      '500 twice, then the answer',
      { paidRequests: 3, spent: PRICE, counted: PRICE_USD },
      paidSteps(
        () => failure(500, 'handler_error'),
        () => failure(503, 'shutting_down'),
        sell,
      ),
    ],
    [
      'endless settlement_unknown',
      { paidRequests: 3, spent: 0n, counted: PRICE_USD, code: 'call_failed' },
      paidSteps(naming(503, 'settlement_unknown')),
    ],
    [
      'every connection is cut',
      { paidRequests: 3, spent: 0n, counted: PRICE_USD, code: 'network_error' },
      paidSteps(cut),
    ],
    [
      'cut once, then the answer',
      { paidRequests: 2, spent: PRICE, counted: PRICE_USD },
      paidSteps(cut, sell),
    ],
    [
      'cut after settling, then refused as spent',
      { paidRequests: 2, spent: PRICE, counted: PRICE_USD, code: 'call_failed' },
      paidSteps(settleAndCut, naming(409, 'payment_spent')),
    ],
    [
      'torn in the middle of the answer, always',
      { paidRequests: 3, spent: PRICE, counted: PRICE_USD, code: 'network_error' },
      paidSteps(settleAndTear),
    ],
    [
      'cut after settling, then 402',
      { paidRequests: 2, spent: PRICE, counted: PRICE_USD, code: 'call_failed' },
      paidSteps(settleAndCut, refuse),
    ],
    [
      '429 with a payment',
      { paidRequests: 1, spent: 0n, counted: PRICE_USD, code: 'call_failed' },
      paidSteps(() => failure(429, 'rate_limited', { 'retry-after': '0' })),
    ],
    [
      '409 without a lost answer',
      { paidRequests: 1, spent: 0n, counted: PRICE_USD, code: 'call_failed' },
      paidSteps(() => failure(409, 'idempotency_in_progress')),
    ],
  ]
  for (const [name, { paidRequests, spent: amount, counted, code }, script] of cases) {
    it(name, async () => {
      const { client, spent } = market.payer({ maxPrice: '$0.01', maxPerDay: '$1' })
      const seller = await market.seller(script)
      const call = client.call(seller.url, { text: 'x' })
      if (code) await expect(call).rejects.toMatchObject({ code })
      else expect(await call).toMatchObject({ data: { done: true }, attempts: paidRequests })
      expect(seller.paid()).toHaveLength(paidRequests)
      expect(distinctPayments(seller).size).toBe(1)
      expect(differentKeys(seller)).toBe(1)
      expect(spent()).toBe(amount)
      expect(client.spentToday).toBe(counted)
    })
  }
})

describe('an answer was lost:', () => {
  it('“not yet” is waited out with the same bytes, beyond the attempts', async () => {
    const { client, spent } = market.payer()
    let receipt = ''
    const settleAndCutOff: Script = async (seen, shop) => {
      receipt = encodeHeader(await shop.settle(seen.payment!))
      return 'cut' as const
    }
    const replay: Script = () => ({
      ...ANSWER,
      headers: { ...ANSWER.headers, 'idempotency-replayed': 'true', 'PAYMENT-RESPONSE': receipt },
    })
    const seller = await market.seller(
      paidSteps(
        settleAndCutOff,
        naming(409, 'idempotency_in_progress'),
        naming(409, 'payment_in_use'),
        naming(409, 'idempotency_in_progress'),
        () => failure(503, 'shutting_down', { 'retry-after': '0' }),
        replay,
      ),
    )
    const result = await client.call(seller.url, {})
    expect(result.data).toEqual({ done: true })
    expect(seller.paid()).toHaveLength(6)
    expect(distinctPayments(seller).size).toBe(1)
    expect(spent()).toBe(PRICE)
    // A replay, but of our own payment: it was spent.
    expect(client.spentToday).toBe(PRICE_USD)
    expect(result.replayed).toBeUndefined()
  })

  it('patience ends, and the money stays counted', async () => {
    const { client } = market.payer({ timeoutMs: PATIENCE_MS })
    const seller = await market.seller(paidSteps(cut, naming(409, 'payment_in_use')))
    await expect(client.call(seller.url, {})).rejects.toMatchObject({
      code: 'call_failed',
      status: 409,
      detail: { charged: 'maybe' },
    })
    expect(client.spentToday).toBe(PRICE_USD)
  })

  it('a seller that says nothing is given up on, and the money stays counted', async () => {
    const { client } = market.payer({ timeoutMs: PATIENCE_MS, retry: false })
    const seller = await market.seller(paidSteps(() => 'silence'))
    await expect(client.call(seller.url, {})).rejects.toMatchObject({
      code: 'network_error',
      message: expect.stringMatching(/it can land until round \d+\)$/),
      detail: {
        charged: 'maybe',
        txId: expect.stringMatching(/^[A-Z2-7]{52}$/),
        lastValid: expect.any(Number),
      },
    })
    expect(client.spentToday).toBe(PRICE_USD)
  })

  it('an abort after the payment left keeps the money counted', async () => {
    const { client } = market.payer()
    const stop = new AbortController()
    const seller = await market.seller(
      paidSteps(() => {
        stop.abort()
        return 'silence'
      }),
    )
    await expect(client.call(seller.url, {}, { signal: stop.signal })).rejects.toMatchObject({
      code: 'aborted',
      detail: { charged: 'maybe' },
    })
    expect(client.spentToday).toBe(PRICE_USD)
  })

  it('an abort before costs nothing', async () => {
    const { client } = market.payer()
    const seller = await market.seller(honest)
    await expect(client.call(seller.url, {}, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    })
    expect(seller.seen).toEqual([])
    expect(client.spentToday).toBe(0)
  })
})

describe('a code that speaks of money', () => {
  const OTHER = 'A'.repeat(52)
  const cases: [string, 'no' | 'maybe' | 'yes', number, Script][] = [
    ['payment_spent of this payment, which has not landed', 'maybe', 1, naming(409, 'payment_spent')],
    ['payment_spent of another', 'maybe', 1, () => failure(409, 'payment_spent', {}, { txId: OTHER })],
    ['payment_spent of none', 'maybe', 1, () => failure(409, 'payment_spent')],
    ['payment_spent, thrown as a 500', 'maybe', 3, () => failure(500, 'payment_spent')],
    ['settlement_unknown of this payment', 'maybe', 3, naming(503, 'settlement_unknown')],
    [
      'settlement_unknown of another',
      'maybe',
      3,
      () => failure(503, 'settlement_unknown', {}, { txId: OTHER }),
    ],
    ['settlement_unknown of none', 'maybe', 3, () => failure(503, 'settlement_unknown')],
    ['payment_in_use of this payment', 'maybe', 1, naming(409, 'payment_in_use')],
    ['payment_in_use of another', 'maybe', 1, () => failure(409, 'payment_in_use', {}, { txId: OTHER })],
    ['none', 'no', 1, () => failure(409, 'conflict', {}, { txId: OTHER })],
  ]
  for (const [name, charged, paidRequests, script] of cases) {
    it(`${name}: charged ${charged}`, async () => {
      const { client } = market.payer({ maxPerDay: '$1' })
      const seller = await market.seller(paidSteps(script))
      await expect(client.call(seller.url, {})).rejects.toMatchObject({ detail: { charged } })
      expect(seller.paid()).toHaveLength(paidRequests)
      expect(distinctPayments(seller).size).toBe(1)
      expect(client.spentToday).toBe(PRICE_USD)
    })
  }

  it('a gateway’s own 502 or 504 says nothing: charged maybe', async () => {
    for (const status of [502, 504]) {
      const { client } = market.payer()
      const seller = await market.seller(paidSteps(() => ({ status, body: '<html>Bad Gateway</html>' })))
      await expect(client.call(seller.url, {})).rejects.toMatchObject({
        status,
        detail: { charged: 'maybe' },
      })
      expect(distinctPayments(seller).size).toBe(1)
    }
  })

  it('after a lost answer, any refusal leaves it open whether the lost attempt was charged', async () => {
    for (const status of [400, 404, 409, 429]) {
      const { client } = market.payer()
      const seller = await market.seller(paidSteps(cut, () => failure(status, 'conflict')))
      await expect(client.call(seller.url, {})).rejects.toMatchObject({
        status,
        detail: { charged: 'maybe' },
      })
    }
  })
})

describe('a payer whose earlier runs are not settled', () => {
  const short = (headers = { 'retry-after': '0' }) => failure(429, 'too_many_unpaid_calls', headers)

  it('waits with the same payment and key, and that is no attempt', async () => {
    const { client, spent } = market.payer({ retry: { ...fastRetry, attempts: 2 } })
    const seller = await market.seller(paidSteps(...Array<Script>(6).fill(() => short()), cut, sell))
    expect((await client.call(seller.url, {})).data).toEqual({ done: true })
    expect(seller.paid()).toHaveLength(8)
    expect(distinctPayments(seller).size).toBe(1)
    expect(differentKeys(seller)).toBe(1)
    expect(spent()).toBe(PRICE)
  })

  it('does not wait beyond its time, nor without retries', async () => {
    const late: [ClientOptions, Script][] = [
      [{ timeoutMs: 10_000 }, () => short({ 'retry-after': '20' })],
      [{ retry: false }, () => short()],
    ]
    for (const [options, script] of late) {
      const { client } = market.payer(options)
      const seller = await market.seller(paidSteps(script))
      const failed = { code: 'call_failed', status: 429, detail: { charged: 'no' } }
      await expect(client.call(seller.url, {})).rejects.toMatchObject(failed)
      expect(seller.paid()).toHaveLength(1)
    }
  })

  it('does not wait for longer than its payment can land', async () => {
    const { client } = market.payer()
    // The shortest window, 10 rounds, less those that it takes to settle: 15 s.
    const seller = await market.seller((seen, shop) =>
      seen.payment ? short({ 'retry-after': '16' }) : shop.challenge(shop.entry({ maxTimeoutSeconds: 20 })),
    )
    await expect(client.call(seller.url, {})).rejects.toMatchObject({ status: 429 })
    expect(seller.paid()).toHaveLength(1)
  })

  it('stops waiting when the caller does', async () => {
    const { client } = market.payer()
    const stop = new AbortController()
    const seller = await market.seller(
      paidSteps(() => {
        setImmediate(() => stop.abort())
        return short({ 'retry-after': '20' })
      }),
    )
    await expect(client.call(seller.url, {}, { signal: stop.signal })).rejects.toMatchObject({
      code: 'aborted',
      detail: { charged: 'maybe' },
    })
    expect(seller.paid()).toHaveLength(1)
  })
})

describe('redirects', () => {
  for (const status of [301, 302, 303, 307, 308]) {
    it(`${status} after payment does not carry the payment on`, async () => {
      const { client, spent } = market.payer()
      const thief = await market.seller(honest)
      const seller = await market.seller(paidSteps(() => ({ status, headers: { location: thief.url } })))
      await expect(client.call(seller.url, {})).rejects.toMatchObject({
        code: 'call_failed',
        status,
        detail: { location: thief.url },
      })
      expect(thief.seen).toEqual([])
      expect(spent()).toBe(0n)
    })
  }

  it('before payment they are reported, not followed', async () => {
    const { client, spent } = market.payer()
    const target = await market.seller(honest)
    const seller = await market.seller(() => ({ status: 307, headers: { location: target.url } }))
    expect(await client.quote(seller.url)).toEqual({ paymentRequired: false, status: 307 })
    await expect(client.call(seller.url, {})).rejects.toMatchObject({ code: 'call_failed', status: 307 })
    expect(target.seen).toEqual([])
    await client.call(target.url, {})
    expect(spent()).toBe(PRICE)
  })

  it('a subscription key is not carried on', async () => {
    const { client } = market.payer()
    const thief = await market.seller(honest)
    const seller = await market.seller(() => ({ status: 308, headers: { location: thief.url } }))
    client.useSubscription(seller.url, 'key-of-a-window')
    await expect(client.call(seller.url, {})).rejects.toMatchObject({ code: 'call_failed', status: 308 })
    expect(seller.seen[0]?.headers['x-svc-subscription']).toBe('key-of-a-window')
    expect(thief.seen).toEqual([])
  })

  it('a fetch that follows them all the same is not trusted with a payment', async () => {
    const fetchImpl: typeof fetch = (url, init) => fetch(url, { ...init, redirect: 'follow' })
    const { client, spent } = market.payer({ fetchImpl })
    const target = await market.seller(honest)
    const seller = await market.seller(() => ({ status: 307, headers: { location: target.url } }))
    await expect(client.call(seller.url, {})).rejects.toMatchObject({ code: 'call_failed' })
    expect(target.paid()).toEqual([])
    expect(spent()).toBe(0n)
  })
})

describe('a receipt', () => {
  const lies: [string, Record<string, unknown>, RegExp][] = [
    ['of another amount', { amount: '1' }, /amount 1 instead of 10000/],
    ['of another asset', { asset: '31566704' }, /asset 31566704 instead of 10458941/],
    ['of another transaction', { transaction: 'A'.repeat(52) }, /transaction A+ instead of/],
    ['of another payer', { payer: 'B'.repeat(58) }, /payer B+ instead of/],
    ['for another receiver', { payTo: 'C'.repeat(58) }, /receiver C+ instead of/],
    ['on another network', { network: 'algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k' }, /network .* instead of/],
    ['of no success', { success: false }, /no success/],
  ]
  for (const [name, lie, message] of lies) {
    it(`${name} is reported`, async () => {
      const { client, spent, address } = market.payer()
      const seller = await market.seller(
        paidSteps(async (seen, shop) => {
          const receipt = { ...(await shop.settle(seen.payment!)), ...lie }
          return { ...ANSWER, headers: { 'PAYMENT-RESPONSE': encodeHeader(receipt) } }
        }),
      )
      const { warnings, payment } = await client.call(seller.url, {})
      expect(warnings).toEqual([{ code: 'receipt_mismatch', message: expect.stringMatching(message) }])
      // The result tells what was signed, not what was claimed.
      expect(payment).toMatchObject({ amount: '10000', asset: '10458941' })
      const landed = market.sandbox.transactions().find(({ txId }) => txId === payment?.txId)
      expect(landed?.sender).toBe(address)
      expect(spent()).toBe(PRICE)
    })
  }

  it('that is missing or unreadable is reported', async () => {
    const receipts: Record<string, string>[] = [{}, { 'PAYMENT-RESPONSE': '%%%' }]
    for (const headers of receipts) {
      const { client } = market.payer()
      const seller = await market.seller(
        paidSteps(async (seen, shop) => {
          await shop.settle(seen.payment!)
          return { ...ANSWER, headers }
        }),
      )
      expect((await client.call(seller.url, {})).warnings).toMatchObject([{ code: 'receipt_missing' }])
      expect(client.spentToday).toBe(PRICE_USD)
    }
  })

  it('that is right is not remarked upon', async () => {
    const { client } = market.payer()
    const { warnings } = await client.call((await market.seller(honest)).url, {})
    expect(warnings).toBeUndefined()
  })
})

describe('an answer without an end', () => {
  const endless = 'x'.repeat(17 * 1024 * 1024)

  it('is not read, and the payment stays counted', async () => {
    const { client, spent } = market.payer()
    const seller = await market.seller(
      paidSteps(async (seen, shop) => {
        await shop.settle(seen.payment!)
        return { status: 200, body: endless }
      }),
    )
    await expect(client.call(seller.url, {})).rejects.toMatchObject({
      code: 'call_failed',
      detail: { charged: 'yes' },
    })
    expect(spent()).toBe(PRICE)
    expect(client.spentToday).toBe(PRICE_USD)
  })

  it('is no quote', async () => {
    const { client, spent } = market.payer()
    const seller = await market.seller(() => ({ status: 402, body: endless }))
    await expect(client.call(seller.url, {})).rejects.toMatchObject({ code: 'unreadable_quote' })
    expect(spent()).toBe(0n)
  })
})
