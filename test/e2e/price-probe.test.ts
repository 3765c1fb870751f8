/** Specification 3: a probe without a body is answered with a quote, also where the price is worked out from the body. */
import { expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { ask, challengeIn, open, pay } from '../support/seller.js'

const input = {
  type: 'object',
  required: ['text'],
  properties: { text: { type: 'string', examples: ['12345'] } },
} as const

async function selling(options: object) {
  const handler = ({ body }: { body: unknown }) => body
  return open([defineEndpoint({ name: 'work', input, handler, ...options } as never)])
}

const byLength = ({ body }: { body: { text?: string } }) => `$0.0${body.text!.length}`

it('a price function that reads the body is asked with an example of it', async () => {
  const seller = await selling({ price: byLength })
  const quote = await ask(`${seller.url}/work`)
  expect(quote.status).toBe(402)
  expect(challengeIn(quote).accepts[0]!.amount).toBe('50000')
  const asked = await ask(`${seller.url}/work`, { body: { text: 'ab' } })
  expect(challengeIn(asked).accepts[0]!.amount).toBe('20000')
  expect((await pay(seller, `${seller.url}/work`, { body: { text: 'ab' } })).status).toBe(200)
  expect(seller.sandbox.balance(seller.sandbox.seller.address).usdc).toBe(20_000n)
})

it('one that makes no price of it is asked so, too', async () => {
  const seller = await selling({ price: ({ body }: { body: { text: never } }) => `$${0.01 * body.text}` })
  expect(challengeIn(await ask(`${seller.url}/work`)).accepts[0]!.amount).toBe('123450000')
})

it('a function that the empty body satisfies is asked once', async () => {
  const seen: unknown[] = []
  const seller = await selling({
    price({ body }: { body: unknown }) {
      seen.push(body)
      return '$0.03'
    },
  })
  expect(challengeIn(await ask(`${seller.url}/work`)).accepts[0]!.amount).toBe('30000')
  expect(seen).toEqual([{}])
})

it('of a GET, the query is an example’s as well', async () => {
  const price = ({ query }: { query: Record<string, unknown> }) => `$0.0${(query.text as string).length}`
  const seller = await selling({ method: 'GET', price })
  const quote = await ask(`${seller.url}/work`, { method: 'GET' })
  expect(challengeIn(quote).accepts[0]!.amount).toBe('50000')
})

it('each probe has an example of its own', async () => {
  const seller = await selling({
    price({ body }: { body: { text: string } }) {
      const price = `$0.0${body.text.length}`
      body.text += 'more'
      return price
    },
  })
  for (const _ of [1, 2]) {
    expect(challengeIn(await ask(`${seller.url}/work`)).accepts[0]!.amount).toBe('50000')
  }
})

it('one that throws on the example as well is 500 without its words, and so is one that throws on a real body', async () => {
  const asked: unknown[] = []
  const seller = await selling({
    price({ body }: { body: unknown }) {
      asked.push(body)
      throw new Error('secret')
    },
  })
  for (const body of [undefined, { text: 'real' }]) {
    const response = await ask(`${seller.url}/work`, { body })
    expect(response.status).toBe(500)
    expect(response.headers.get('payment-required')).toBeNull()
    const text = await response.text()
    expect(JSON.parse(text).error.code).toBe('price_unavailable')
    expect(text).not.toContain('secret')
  }
  expect(asked).toEqual([{}, { text: '12345' }, { text: 'real' }])
})
