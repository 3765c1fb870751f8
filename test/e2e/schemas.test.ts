/** Endpoints whose schemas are a library's, over HTTP: quoted, refused, paid, and answered with the schema's output. */
import { toJsonSchema, toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineEndpoint, type EndpointDef, type JSONSchema } from '../../src/index.js'
import { DOORS, type TestDoor } from '../support/doors.js'
import { ask, challengeIn, open, pay, type Seller, signFor } from '../support/seller.js'

const cents = (n: number) => `$${(n / 100).toFixed(2)}`
const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc
// biome-ignore lint/suspicious/noExplicitAny: each test says what it finds there
const json = async (response: Response): Promise<any> => response.json()
const errorOf = async (response: Response) => (await json(response)).error

const trimmed = v.object({
  text: v.pipe(v.string(), v.trim(), v.minLength(1)),
  times: v.optional(v.number(), 2),
})
/** `times` has the default 2, and `text` is trimmed: both show what the schema made of the input. */
const BODIES = {
  zod: z.object({ text: z.string().trim().min(1), times: z.number().int().default(2) }),
  // JSON Schema has no word for trimming, so this one comes with its own.
  valibot: {
    schema: trimmed,
    jsonSchema: toJsonSchema(trimmed, { typeMode: 'input', errorMode: 'ignore' }) as JSONSchema,
  },
  arktype: type({ text: 'string.trim |> string > 0', times: 'number = 2' }),
}

const QUERIES = {
  zod: z.object({ n: z.coerce.number().int() }),
  valibot: toStandardJsonSchema(v.object({ n: v.pipe(v.string(), v.examples(['3']), v.toNumber()) })),
  arktype: type({ n: 'string.numeric.parse' }),
}

interface Body {
  readonly text: string
  readonly times: number
}

function selling(library: keyof typeof BODIES) {
  const priced: unknown[] = []
  const ofBody = {
    name: 'repeat',
    input: BODIES[library],
    price({ body }: { body: Partial<Body> }) {
      priced.push(body)
      return cents(body.times ?? 1)
    },
    handler: ({ body }: { body: Body }) => ({ body, type: typeof body.times }),
  }
  const ofQuery = {
    name: 'count',
    method: 'GET',
    input: QUERIES[library],
    // A text would make it 1 cent and a 3 after it.
    price: ({ body }: { body: { n?: number } }) => cents((body.n ?? 0) + 1),
    handler: ({ body, query }: { body: unknown; query: unknown }) => ({ body, query }),
  }
  const endpoints = [ofBody, ofQuery].map(options => defineEndpoint(options as never))
  return { priced, endpoints }
}

describe.each(['zod', 'valibot', 'arktype'] as const)('a schema of %s', library => {
  it('is published as JSON Schema wherever the endpoint is', async () => {
    const { endpoints } = selling(library)
    const { url } = await open(endpoints)
    const input = { type: 'object', required: ['text'], properties: { text: { type: 'string' } } }
    const quoted = await ask(`${url}/repeat`)
    expect(quoted.status).toBe(402)
    expect(challengeIn(quoted).extensions).toMatchObject({
      bazaar: { schema: { properties: { input: { properties: { body: input } } } } },
    })
    const manifest = await json(await fetch(`${url}/.well-known/svc.json`))
    expect(manifest.endpoints[0].input).toMatchObject(input)
    const { components } = await json(await fetch(`${url}/openapi.json`))
    expect(components.schemas['repeat.input']).toMatchObject(input)
  })

  it('refuses a wrong input with its field and its schema, before any payment', async () => {
    const seller = await open(selling(library).endpoints)
    const payment = await signFor(seller, `${seller.url}/repeat`, { body: { text: 'x' } })
    for (const headers of [{}, payment]) {
      const response = await ask(`${seller.url}/repeat`, { body: { text: 'x', times: 'two' }, headers })
      expect(response.status).toBe(400)
      const { code, field, message, schema } = await errorOf(response)
      expect({ code, field }).toEqual({ code: 'invalid_input', field: '/times' })
      expect(message).toMatch(/^\/times: .+/)
      expect(schema).toMatchObject({ type: 'object' })
    }
    expect(received(seller)).toBe(0n)
    expect((await ask(`${seller.url}/repeat`, { body: { text: 'x' }, headers: payment })).status).toBe(200)
    expect(received(seller)).toBe(20_000n)
  })

  it('gives the handler and the price its output', async () => {
    const { endpoints, priced } = selling(library)
    const seller = await open(endpoints)
    const response = await pay(seller, `${seller.url}/repeat`, { body: { text: '  a ' } })
    expect(await response.json()).toEqual({ body: { text: 'a', times: 2 }, type: 'number' })
    expect(priced).toEqual([
      { text: 'a', times: 2 },
      { text: 'a', times: 2 },
    ])
    expect(received(seller)).toBe(20_000n)
  })

  it('coerces a query, for the quote, for the price and for the handler', async () => {
    const seller = await open(selling(library).endpoints)
    const url = `${seller.url}/count?n=3`
    expect(challengeIn(await ask(url, { method: 'GET' })).accepts[0]!.amount).toBe('40000')
    const response = await pay(seller, url, { method: 'GET' })
    expect(await response.json()).toEqual({ body: { n: 3 }, query: { n: '3' } })
    expect(received(seller)).toBe(40_000n)
    const payment = await signFor(seller, url, { method: 'GET' })
    const refused = await ask(`${seller.url}/count?n=x`, { method: 'GET', headers: payment })
    expect(await errorOf(refused)).toMatchObject({ code: 'invalid_input', field: '/n' })
    expect(received(seller)).toBe(40_000n)
  })

  it.each(Object.entries(DOORS) as [string, TestDoor][])('gives its output through %s', async (_, door) => {
    const seller = await open(selling(library).endpoints)
    const input = { text: '  a ' }
    const payment = await signFor(seller, `${seller.url}/repeat`, { body: input })
    const told = await door(seller.url, { skill: 'repeat', input, headers: payment })
    expect(told).toMatchObject({ code: 'ok', data: { body: { text: 'a', times: 2 } } })
    const wrong = await door(seller.url, { skill: 'repeat', input: { text: 'a', times: 'two' } })
    expect(wrong.code).toBe('invalid_input')
    expect(received(seller)).toBe(20_000n)
  })
})

it('an idempotency key stands for what was sent, not for what the schema made of it', async () => {
  const { endpoints } = selling('zod')
  const seller = await open(endpoints, { idempotency: {} })
  const url = `${seller.url}/repeat`
  const body = { text: ' a' }
  const key = { 'idempotency-key': 'a-key-of-more-than-sixteen-characters' }
  const headers = { ...(await signFor(seller, url, { body })), ...key }
  const first = await ask(url, { body, headers })
  expect(first.status).toBe(200)
  const again = await ask(url, { body, headers })
  expect(await again.json()).toEqual(await first.json())
  // The schema makes the same of it, and it is another request.
  const payment = await signFor(seller, url, { body })
  const other = await ask(url, { body: { text: 'a ' }, headers: { ...payment, ...key } })
  expect(await errorOf(other)).toMatchObject({ code: 'idempotency_key_reuse' })
  expect(received(seller)).toBe(20_000n)
})

it('a price function that a probe gives nothing to work with is asked with the output of an example', async () => {
  const text = z.string().meta({ examples: ['abc'] })
  const input = z.object({ text: text.transform(given => given.length) })
  const price = ({ body }: { body: { text?: number } }) => cents(Number(body.text!.toFixed()))
  const of = (method: 'GET' | 'POST') =>
    defineEndpoint({ name: method.toLowerCase(), method, price, input, handler: ({ body }) => body })
  const { url } = await open([of('GET'), of('POST')])
  for (const method of ['GET', 'POST', 'GET']) {
    const quoted = await ask(`${url}/${method.toLowerCase()}`, { method })
    expect(challengeIn(quoted).accepts[0]!.amount).toBe('30000')
  }
})

describe('a schema that fails', () => {
  const failing = (validate: () => unknown): EndpointDef => {
    const given = { type: 'object' }
    const jsonSchema = { input: () => given, output: () => given }
    return defineEndpoint({
      name: 'work',
      price: '$0.01',
      input: { '~standard': { version: 1, vendor: 'own', validate, jsonSchema } } as never,
      handler: () => expect.unreachable('the handler ran'),
    })
  }
  const body = { n: 1 }

  it.each([
    ['throws', () => { throw new Error('secret') }], // biome-ignore format: one thought
    ['rejects', () => Promise.reject(new Error('secret'))],
    ['answers nothing', () => undefined],
    ['never answers', () => new Promise(() => {})],
  ])('because it %s is 500, without its words, and charges nothing', async (_, validate) => {
    const seller = await open([failing(validate)], { advanced: { timeouts: { inputMs: 50 } } })
    const quoted = await ask(`${seller.url}/work`)
    expect(quoted.status).toBe(402)
    const payment = await signFor(seller, `${seller.url}/work`)
    for (const headers of [{}, payment]) {
      const response = await ask(`${seller.url}/work`, { body, headers })
      const text = await response.text()
      expect({ status: response.status, code: JSON.parse(text).error.code }).toEqual({
        status: 500,
        code: 'internal_error',
      })
      expect(text).not.toContain('secret')
    }
    expect(received(seller)).toBe(0n)
    expect(seller.ended.at(-1)).toMatchObject({ final: 'broken', charged: 'no' })
  })

  it('gives the payment back: it pays for the next call', async () => {
    let isBroken = true
    const schema = z.object({
      n: z.number().refine(async () => !isBroken || Promise.reject(new Error('down'))),
    })
    const work = defineEndpoint({ name: 'work', price: '$0.01', input: schema, handler: ({ body }) => body })
    const seller = await open([work])
    const headers = await signFor(seller, `${seller.url}/work`)
    expect((await ask(`${seller.url}/work`, { body, headers })).status).toBe(500)
    isBroken = false
    expect(await (await ask(`${seller.url}/work`, { body, headers })).json()).toEqual(body)
    expect(received(seller)).toBe(10_000n)
  })
})
