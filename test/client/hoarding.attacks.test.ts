/** A seller keeps the signature, says whatever it likes, and lands the payment when the buyer has forgotten it. */
import { describe, expect, it } from 'vitest'
import { type ClientOptions, memorySpendLedger, type OpenSpend } from '../../src/client.js'
import { encodeHeader } from '../../src/domain/x402.js'
import {
  ANSWER,
  distinctPayments,
  failure,
  fastRetry,
  honest,
  marketForFile,
  type Script,
  type Seller,
  type Shop,
  txIdIn,
} from './market.js'

const market = marketForFile()

const DEAR = 250_000n
const CAP = { maxPerDay: '$1', maxPrice: '$0.25' }
const OTHER = 'A'.repeat(52)

const quoteDear = (shop: Shop) => shop.challenge(shop.entry({ amount: DEAR.toString() }))

/** Quotes, and answers payments with a lie. */
function liar(lie: Script): Script {
  return (seen, shop) => (seen.payment ? lie(seen, shop) : quoteDear(shop))
}

/** Clients of one wallet and one ledger, each new: a process that lives for a second has such a one. */
function wallet(name: string) {
  const ledger = memorySpendLedger()
  const { address, mnemonic } = market.sandbox.accounts(name)
  const before = market.sandbox.balance(address).usdc!
  return {
    ledger,
    client: (options: ClientOptions = {}) =>
      market.payer({ ...CAP, ledger, mnemonic, retry: false, ...options }).client,
    spent: () => before - market.sandbox.balance(address).usdc!,
  }
}

/** Submits all that the seller was ever given; how many landed. */
async function landAll(seller: Seller): Promise<number> {
  const fence = await market.seller(async ({ headers }, shop) => {
    const { success } = await shop.settle(headers['x-hoarded']!)
    return { status: success ? 200 : 402 }
  })
  let landed = 0
  for (const payment of distinctPayments(seller)) {
    const { status } = await fetch(fence.url, { headers: { 'x-hoarded': payment! } })
    if (status === 200) landed++
  }
  return landed
}

const dearAndHonest: Script = (seen, shop) => (seen.payment ? shop.sell(seen.payment) : quoteDear(shop))

const LIES: [string, Script][] = [
  ['400', () => failure(400, 'invalid_input')],
  ['402 and a quote', (_, shop) => quoteDear(shop)],
  [
    '402 and a refusal',
    () => ({
      status: 402,
      headers: { 'PAYMENT-RESPONSE': encodeHeader({ success: false, errorReason: 'no' }) },
    }),
  ],
  ['409 idempotency_in_progress', () => failure(409, 'idempotency_in_progress', { 'retry-after': '0' })],
  ['409 payment_in_use of another payment', () => failure(409, 'payment_in_use', {}, { txId: OTHER })],
  ['409 payment_spent of another payment', () => failure(409, 'payment_spent', {}, { txId: OTHER })],
  ['429', () => failure(429, 'rate_limited', { 'retry-after': '0' })],
  ['500', () => failure(500, 'handler_error')],
  ['503', () => failure(503, 'facilitator_unavailable', { 'retry-after': '0' })],
  [
    '503 settlement_unknown of another payment',
    () => failure(503, 'settlement_unknown', {}, { txId: OTHER }),
  ],
  ['a redirect', () => ({ status: 307, headers: { location: 'https://elsewhere.example/' } })],
  ['nothing', () => 'cut'],
  [
    'a replay of another payment',
    () => ({
      ...ANSWER,
      headers: {
        ...ANSWER.headers,
        'Idempotency-Replayed': 'true',
        'PAYMENT-RESPONSE': encodeHeader({ success: true, txId: OTHER, amount: '1', asset: '10458941' }),
      },
    }),
  ],
  [
    'a replay of nothing',
    () => ({ ...ANSWER, headers: { ...ANSWER.headers, 'Idempotency-Replayed': 'true' } }),
  ],
]

describe('under a cap of $1 a seller that hoards signatures moves $1, having answered', () => {
  for (const [name, lie] of LIES) {
    it(name, async () => {
      const { client, spent } = market.payer({ ...CAP, retry: { ...fastRetry, attempts: 2 } })
      const seller = await market.seller(liar(lie))
      const calls = await Promise.allSettled(Array.from({ length: 6 }, () => client.call(seller.url, {})))
      for (let call = 0; call < 4; call++)
        calls.push(...(await Promise.allSettled([client.call(seller.url, {})])))
      const refused = calls.filter(
        call => call.status === 'rejected' && call.reason.code === 'daily_cap_reached',
      )
      expect(refused).toHaveLength(6)
      expect(client.remainingToday).toBe(0)
      expect(await landAll(seller)).toBe(4)
      expect(spent()).toBe(4n * DEAR)
      await expect(client.call(seller.url, {})).rejects.toMatchObject({ code: 'daily_cap_reached' })
      market.sandbox.advanceRounds(300)
      await expect(client.call(seller.url, {})).rejects.toMatchObject({ code: 'daily_cap_reached' })
      expect(client.receipts.toJSON().map(({ charged }) => charged)).toEqual(Array(4).fill('yes'))
      expect(spent()).toBe(4n * DEAR)
    })
  }
})

describe('what was handed over', () => {
  it('is in the ledger before the seller has it', async () => {
    const ledger = memorySpendLedger()
    const { client } = market.payer({ ...CAP, ledger })
    const held: string[][] = []
    const seller = await market.seller(
      liar(async (seen, shop) => {
        const open = await ledger.due('testnet', 2n ** 50n, 10)
        held.push([txIdIn(seen.payment!), ...open.map(({ payment }) => payment.txId)])
        return shop.sell(seen.payment!)
      }),
    )
    const { payment } = await client.call(seller.url, {})
    expect(held).toEqual([[payment!.txId, payment!.txId]])
    expect(await ledger.due('testnet', 2n ** 50n, 10)).toEqual([])
  })

  it('is not handed over where the ledger no longer holds it', async () => {
    for (const attach of [() => false, () => Promise.reject(new Error('the ledger is down'))]) {
      const { client } = market.payer({ ...CAP, ledger: { ...memorySpendLedger(), attach } })
      const seller = await market.seller(dearAndHonest)
      await expect(client.call(seller.url, {})).rejects.toThrow(/no longer holds|is down/)
      expect(seller.paid()).toEqual([])
      expect(client.receipts.length).toBe(0)
    }
  })

  it('is free again once it can no longer land', async () => {
    const { client, spent } = wallet('free again')
    const hoarded = client()
    const seller = await market.seller(liar(() => failure(400, 'invalid_input')))
    for (let call = 0; call < 4; call++)
      await expect(hoarded.call(seller.url, {})).rejects.toMatchObject({ detail: { charged: 'no' } })
    const shop = await market.seller(dearAndHonest)
    await expect(hoarded.call(shop.url, {})).rejects.toMatchObject({ code: 'daily_cap_reached' })
    expect((await hoarded.estimate(shop.url, {})).refusal).toMatchObject({ code: 'daily_cap_reached' })
    market.sandbox.advanceRounds(300)
    expect((await hoarded.estimate(shop.url, {})).refusal).toBeUndefined()
    expect(hoarded.remainingToday).toBe(1)
    expect(hoarded.receipts.toJSON().map(({ charged }) => charged)).toEqual(Array(4).fill('no'))
    const later = client()
    for (let call = 0; call < 4; call++) await later.call(shop.url, {})
    await expect(later.call(shop.url, {})).rejects.toMatchObject({ code: 'daily_cap_reached' })
    expect(await landAll(seller)).toBe(0)
    expect(spent()).toBe(4n * DEAR)
  })

  it('is not free while it can land', async () => {
    const { client, ledger, spent } = wallet('last round')
    const seller = await market.seller(liar(() => failure(400, 'invalid_input')))
    const call = () => client({ maxPerDay: '$0.25' }).call(seller.url, {})
    await expect(call()).rejects.toMatchObject({ status: 400 })
    const [{ payment }] = (await ledger.due('testnet', 2n ** 50n, 1)) as [OpenSpend]
    market.sandbox.advanceRounds(Number(payment.lastValid - market.sandbox.round()) - 3)
    await expect(call()).rejects.toMatchObject({ code: 'daily_cap_reached' })
    expect(await landAll(seller)).toBe(1)
    expect(spent()).toBe(DEAR)
  })

  it('counts where it landed, is free where it did not', async () => {
    const { client, spent } = wallet('half landed')
    const first = client()
    const [lands, forgets] = await Promise.all([1, 2].map(() => market.seller(liar(() => 'cut'))))
    for (const seller of [lands, lands, forgets, forgets])
      await expect(first.call(seller!.url, {})).rejects.toMatchObject({ detail: { charged: 'maybe' } })
    expect(await landAll(lands!)).toBe(2)
    market.sandbox.advanceRounds(300)
    const shop = await market.seller(dearAndHonest)
    const later = client()
    const calls = await Promise.allSettled([1, 2, 3, 4].map(() => later.call(shop.url, {})))
    expect(calls.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
    expect(await landAll(forgets!)).toBe(0)
    expect(spent()).toBe(4n * DEAR)
    expect(later.spentToday).toBe(1)
  })

  it('is settled by whichever client needs the room: the ledger knows what the chain has to be asked', async () => {
    const { client, spent } = wallet('short lives')
    const seller = await market.seller(liar(() => failure(400, 'invalid_input')))
    const call = () => client().call(seller.url, {})
    for (let at = 0; at < 4; at++) await expect(call()).rejects.toMatchObject({ status: 400 })
    await expect(call()).rejects.toMatchObject({ code: 'daily_cap_reached' })
    market.sandbox.advanceRounds(300)
    await expect(call()).rejects.toMatchObject({ status: 400 })
    expect(await landAll(seller)).toBe(1)
    expect(spent()).toBe(DEAR)
  })

  it('stays counted where the node cannot tell', async () => {
    const { client, spent } = wallet('no node')
    const seller = await market.seller(liar(() => failure(400, 'invalid_input')))
    for (let at = 0; at < 4; at++) await expect(client().call(seller.url, {})).rejects.toThrow()
    market.sandbox.advanceRounds(300)
    const blind = client({ algodUrl: 'http://127.0.0.1:1' })
    await expect(blind.call(seller.url, {})).rejects.toMatchObject({ code: 'daily_cap_reached' })
    expect(seller.paid()).toHaveLength(4)
    expect(spent()).toBe(0n)
  })

  it('ends a wait for room with the caller’s signal', async () => {
    const stuck = { ...memorySpendLedger(), due: () => new Promise<never>(() => stop.abort()) }
    const stop = new AbortController()
    const { client, spent } = market.payer({ maxPerDay: '$0.20', ledger: stuck })
    const shop = await market.seller(dearAndHonest)
    const call = client.call(shop.url, {}, { signal: stop.signal })
    await expect(call).rejects.toMatchObject({ code: 'aborted' })
    expect(client.spentToday).toBe(0)
    expect(spent()).toBe(0n)
  })
})

it('many calls at once at a hoarder stay under the cap', async () => {
  const { client, spent } = market.payer({ ...CAP, retry: false })
  const hoarder = await market.seller(liar(() => failure(500, 'handler_error')))
  const shop = await market.seller(honest)
  const requests = Array.from({ length: 30 }, (_, at) => ({ url: at % 3 ? hoarder.url : shop.url, body: {} }))
  const outcomes = await client.callMany(requests)
  expect(outcomes.some(({ ok }) => ok)).toBe(true)
  await landAll(hoarder)
  expect(spent()).toBeLessThanOrEqual(1_000_000n)
  expect(client.spentToday * 1e6).toBe(Number(spent()))
})
