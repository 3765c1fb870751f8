/** What the client remembers of its payments, and how that reads in a spreadsheet. */
import { describe, expect, it } from 'vitest'
import { receiptBook } from '../../src/app/client/receipt-book.js'
import { csvRow } from '../../src/domain/untrusted-text.js'
import type { PaymentRequirements } from '../../src/domain/x402.js'
import { failure, honest, marketForFile, PRICE_USD, type Script, txIdIn } from './market.js'

const market = marketForFile()

describe('receipts', () => {
  it('say what was paid, for what, to whom, when', async () => {
    const { client } = market.payer()
    const seller = await market.seller(honest)
    const startedMs = Date.now()
    const { payment } = await client.call(`${seller.url}?q=1#part`, { text: 'x' })
    const [receipt, ...others] = client.receipts
    expect(others).toEqual([])
    expect(receipt).toEqual({
      at: expect.any(String),
      method: 'POST',
      url: `${seller.url}?q=1`,
      status: 200,
      charged: 'yes',
      txId: payment?.txId,
      amount: '10000',
      usd: PRICE_USD,
      asset: '10458941',
      payTo: market.sandbox.seller.address,
      network: 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe',
      lastValid: expect.any(Number),
    })
    expect(Date.parse(receipt!.at)).toBeGreaterThanOrEqual(startedMs)
    expect(JSON.parse(JSON.stringify(client.receipts))).toEqual([receipt])
  })

  it('are of payments only: no quotes, no refusals, nothing free', async () => {
    const { client } = market.payer({ maxPrice: '$0.001' })
    const seller = await market.seller(honest)
    await client.quote(seller.url)
    await client.estimate(seller.url)
    await expect(client.call(seller.url)).rejects.toMatchObject({ code: 'price_above_max' })
    expect(client.receipts.length).toBe(0)
    expect(client.receipts.toCSV().split('\r\n')).toHaveLength(2)
  })

  it('tell what sellers deny from those that nobody can tell', async () => {
    const { client } = market.payer({ retry: false })
    const scripts: Readonly<Record<string, Script>> = {
      denied: () => failure(500, 'handler_error'),
      lost: () => 'cut',
      unknown: seen => failure(503, 'settlement_unknown', {}, { txId: txIdIn(seen.payment!) }),
    }
    const seller = await market.seller((seen, shop) =>
      seen.payment ? scripts[seen.path.split('?')[1]!]!(seen, shop) : shop.challenge(shop.entry()),
    )
    for (const name of Object.keys(scripts))
      await expect(client.call(`${seller.url}?${name}`)).rejects.toThrow()
    expect(client.receipts.toJSON().map(({ status, charged }) => [status, charged])).toEqual([
      [500, 'no'],
      [undefined, 'maybe'],
      [503, 'maybe'],
    ])
  })

  it('are in doubt while the answer is awaited, and after it was given up', async () => {
    const { client } = market.payer()
    const stop = new AbortController()
    let during: string | undefined
    const seller = await market.seller((seen, shop) => {
      if (!seen.payment) return shop.challenge(shop.entry())
      during = client.receipts.toJSON()[0]?.charged
      stop.abort()
      return 'silence'
    })
    await expect(client.call(seller.url, {}, { signal: stop.signal })).rejects.toMatchObject({
      code: 'aborted',
      detail: { charged: 'maybe' },
    })
    expect(during).toBe('maybe')
    expect(client.receipts.toJSON()).toMatchObject([{ charged: 'maybe' }])
  })

  it('tell what the chain says once it was asked', async () => {
    const { client } = market.payer({ retry: false, maxPerDay: '$0.02' })
    let kept = ''
    const thief = await market.seller((seen, shop) => {
      if (!seen.payment) return shop.challenge(shop.entry())
      kept ||= seen.payment
      return failure(500, 'handler_error')
    })
    for (let call = 0; call < 2; call++)
      await expect(client.call(thief.url)).rejects.toMatchObject({ detail: { charged: 'no' } })
    await market
      .seller((_, shop) => shop.settle(kept).then(() => 'cut' as const))
      .then(({ url }) => fetch(url).catch(() => {}))
    expect(client.receipts.toJSON().map(({ charged }) => charged)).toEqual(['no', 'no'])
    market.sandbox.advanceRounds(100)
    expect(await client.estimate(thief.url)).not.toHaveProperty('refusal')
    expect(client.receipts.toJSON().map(({ charged }) => charged)).toEqual(['yes', 'no'])
    expect(client.spentToday).toBe(PRICE_USD)
  })

  it('are as many as were asked for: the oldest go first', async () => {
    const { client } = market.payer({ receiptsMax: 2 })
    const seller = await market.seller(honest)
    for (let call = 0; call < 3; call++) await client.call(`${seller.url}?${call}`)
    expect(client.receipts.toJSON().map(({ url }) => url)).toEqual([`${seller.url}?1`, `${seller.url}?2`])
    expect(client.receipts.dropped).toBe(1)
    for (const receiptsMax of [-1, 1.5, Number.NaN])
      expect(() => market.payer({ receiptsMax })).toThrow('receiptsMax')
  })
})

describe('CSV', () => {
  it('has a head and a line for each payment', () => {
    const book = receiptBook(10, () => Date.UTC(2026, 0, 2))
    const accepted = { amount: '12345', asset: '10458941', payTo: 'PAYEE', network: 'algorand:x' }
    book.sent({
      txId: 'TX',
      method: 'POST',
      url: new URL('https://agent.example/a?b="c",d'),
      accepted: accepted as PaymentRequirements,
      lastValid: 9,
    })
    expect(book.toCSV()).toBe(
      'at,method,url,status,charged,txId,amount,usd,asset,payTo,network\r\n' +
        '2026-01-02T00:00:00.000Z,POST,"https://agent.example/a?b=%22c%22,d",,maybe,TX,12345,0.012345,10458941,PAYEE,algorand:x\r\n',
    )
  })

  for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', ' =1', '|calc', '%0a', '＝1']) {
    it(`makes no formula of ${JSON.stringify(text)}`, () => {
      expect(csvRow([text])).toMatch(/^"'/)
    })
  }

  it('quotes what would end a field or a line', () => {
    expect(csvRow(['a,b', 'c"d', 'e\nf', '', null, undefined, 1.5, 'plain'])).toBe(
      '"a,b","c""d","e\nf",,,,1.5,plain',
    )
  })
})
