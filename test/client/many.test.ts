/** Many calls at once: bounded, in order, each on its own. */
import { describe, expect, it } from 'vitest'
import { ANSWER, failure, honest, marketForFile, PRICE } from './market.js'

const market = marketForFile()

describe('callMany', () => {
  it('answers in the order of the requests, whatever the order of the answers', async () => {
    const { client, spent } = market.payer()
    const holdUp: (() => void)[] = []
    const seller = await market.seller(async (seen, shop) => {
      const { at } = JSON.parse(seen.body)
      if (!seen.payment) return shop.challenge(shop.entry())
      // The first is answered last: when all others were paid.
      if (at === 0) await new Promise<void>(resolve => holdUp.push(resolve))
      if (at === 5) for (const release of holdUp) release()
      return { ...(await sold(shop.sell(seen.payment))), body: JSON.stringify({ at }) }
    })
    const requests = Array.from({ length: 6 }, (_, at) => ({ url: seller.url, body: { at } }))
    const outcomes = await client.callMany<{ at: number }>(requests, { concurrency: 2 })
    expect(outcomes.map(outcome => outcome.ok && outcome.result.data.at)).toEqual([0, 1, 2, 3, 4, 5])
    expect(spent()).toBe(6n * PRICE)
  })

  it('has no more under way than it was told', async () => {
    const { client } = market.payer()
    let most = 0
    const waiting: (() => void)[] = []
    const seller = await market.seller(async () => {
      // Nobody is answered until three are here; a fourth would be seen.
      await new Promise<void>(resolve => {
        waiting.push(resolve)
        most = Math.max(most, waiting.length)
        if (waiting.length >= 3) setImmediate(() => waiting.splice(0).map(answer => answer()))
      })
      return ANSWER
    })
    const requests = Array.from({ length: 30 }, () => ({ url: seller.url }))
    await client.callMany(requests, { concurrency: 3 })
    expect(most).toBe(3)
    expect(seller.seen).toHaveLength(30)
  })

  it('goes on when some fail, and says which and why', async () => {
    const { client, spent } = market.payer({ maxPrice: '$0.01', retry: false })
    const good = await market.seller(honest)
    const dear = await market.seller((_, shop) => shop.challenge(shop.entry({ amount: '10001' })))
    const broken = await market.seller(() => failure(500, 'handler_error'))
    const outcomes = await client.callMany([
      { url: dear.url },
      { url: good.url },
      { url: 'not a url' },
      { url: broken.url },
      { url: good.url, body: 1n },
      { url: good.url, method: 'GET' },
    ])
    expect(outcomes).toMatchObject([
      { ok: false, error: { code: 'price_above_max' } },
      { ok: true, result: { data: { done: true } } },
      { ok: false, error: { code: 'invalid_url' } },
      { ok: false, error: { code: 'call_failed', status: 500 } },
      { ok: false, error: { code: 'invalid_request' } },
      { ok: true, result: { payment: { amount: '10000' } } },
    ])
    expect(spent()).toBe(2n * PRICE)
  })

  it('keeps the daily limit together', async () => {
    const { client, spent } = market.payer({ maxPerDay: '$0.03' })
    const seller = await market.seller(honest)
    const outcomes = await client.callMany(Array.from({ length: 12 }, () => ({ url: seller.url })))
    expect(outcomes.filter(({ ok }) => ok)).toHaveLength(3)
    expect(spent()).toBe(3n * PRICE)
  })

  it('stops at its signal: what is under way is aborted, what is not is not sent', async () => {
    const { client, spent } = market.payer()
    const stop = new AbortController()
    const seller = await market.seller(() => {
      stop.abort()
      return 'silence'
    })
    const requests = Array.from({ length: 9 }, () => ({ url: seller.url }))
    const outcomes = await client.callMany(requests, { concurrency: 1, signal: stop.signal })
    expect(outcomes).toHaveLength(9)
    for (const outcome of outcomes) expect(outcome).toMatchObject({ ok: false, error: { code: 'aborted' } })
    expect(seller.seen).toHaveLength(1)
    expect(spent()).toBe(0n)
  })

  it('lets one request stop by a signal of its own', async () => {
    const { client } = market.payer()
    const seller = await market.seller(honest)
    const outcomes = await client.callMany(
      [{ url: seller.url, signal: AbortSignal.abort() }, { url: seller.url }],
      { signal: new AbortController().signal },
    )
    expect(outcomes.map(({ ok }) => ok)).toEqual([false, true])
  })

  it('takes any iterable, also an empty one', async () => {
    const { client } = market.payer()
    const seller = await market.seller(() => ANSWER)
    const requests = function* () {
      yield { url: seller.url }
      yield { url: new URL(seller.url) }
    }
    expect(await client.callMany(requests())).toHaveLength(2)
    expect(await client.callMany([])).toEqual([])
  })

  it('keeps what was paid where the requests throw, or are none', async () => {
    const { client, spent } = market.payer()
    const seller = await market.seller(honest)
    const hostile = {
      get url(): string {
        throw new Error('no url today')
      },
    }
    const requests = function* () {
      yield { url: seller.url }
      yield undefined
      yield 'a text'
      yield null
      yield hostile
      yield { url: seller.url, signal: 'none' }
      yield { url: seller.url }
      throw new Error('the file ended')
    }
    for (const concurrency of [1, 3]) {
      const outcomes = await client.callMany(requests() as never, {
        concurrency,
        signal: new AbortController().signal,
      })
      expect(outcomes.map(outcome => outcome.ok || outcome.error.message)).toEqual([
        true,
        'callMany: a request is {url, body?}, not undefined',
        "callMany: a request is {url, body?}, not 'a text'",
        'callMany: a request is {url, body?}, not null',
        'no url today',
        expect.stringContaining('AbortSignal'),
        true,
        'the file ended',
      ])
    }
    expect(spent()).toBe(4n * PRICE)
    for (const none of [undefined, null, 5, {}])
      await expect(client.callMany(none as never)).rejects.toMatchObject({ code: 'invalid_options' })
  })

  it('refuses a concurrency that is none', async () => {
    const { client } = market.payer()
    for (const concurrency of [0, -1, 1.5, Number.NaN]) {
      await expect(client.callMany([], { concurrency })).rejects.toMatchObject({ code: 'invalid_options' })
    }
  })
})

async function sold(answer: ReturnType<typeof honest>) {
  const given = await answer
  if (typeof given === 'string') throw new Error(given)
  return given
}
