/** The schema of an answer: published, and compared with the answer outside production, which it never changes. */
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { defineEndpoint, type EndpointDef } from '../../src/index.js'
import { eventually } from '../support/eventually.js'
import { ask, challengeIn, open, pay, type Seller } from '../support/seller.js'

const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc
// biome-ignore lint/suspicious/noExplicitAny: each test says what it finds there
const json = async (response: Response): Promise<any> => response.json()

describe('an output schema', () => {
  const rows = z.object({ rows: z.array(z.number().refine(n => n < 10, 'is large')) })
  const answering = (answer: unknown, output: unknown = rows) =>
    defineEndpoint({ name: 'work', price: '$0.01', output: output as never, handler: () => answer })

  /** What a paid call answered, and what the seller was warned of. */
  async function told(endpoint: EndpointDef) {
    const warn = vi.fn()
    const silent = () => {}
    const seller = await open([endpoint], {
      logger: { debug: silent, info: silent, error: silent, warn },
    })
    const response = await pay(seller, `${seller.url}/work`)
    expect(response.status).toBe(200)
    expect(received(seller)).toBe(10_000n)
    const answer = await response.json()
    await eventually(() => expect(seller.ended).not.toHaveLength(0))
    return { answer, warnings: warn.mock.calls.filter(([, message]) => /output schema/.test(message)) }
  }

  it.each([
    ['an answer that JSON Schema refuses', { rows: 'none' }, '/rows'],
    ['a field that is not described', { rows: [], more: 1 }, '/more'],
    ['an answer that the library alone refuses', { rows: [1, 99] }, '/rows/1'],
  ])('warns of %s, which is sent and charged as it is', async (_, answer, field) => {
    const seen = await told(answering(answer))
    expect(seen.answer).toEqual(answer)
    expect(seen.warnings).toEqual([
      [
        { endpoint: 'work', field, schema: expect.objectContaining({ type: 'object' }) },
        expect.stringContaining("An answer of endpoint 'work' does not satisfy its output schema: "),
      ],
    ])
  })

  it('warns once the library has answered, and also where it breaks', async () => {
    const late = rows.refine(async () => false, 'is late')
    expect((await told(answering({ rows: [] }, late))).warnings).toHaveLength(1)
    const broken = rows.refine(() => Promise.reject(new Error('down')))
    const { warnings } = await told(answering({ rows: [] }, broken))
    expect(warnings).toEqual([
      [{ endpoint: 'work', err: expect.any(Error) }, expect.stringContaining('could not')],
    ])
  })

  it('says nothing of an answer that satisfies it', async () => {
    expect((await told(answering({ rows: [1] }))).warnings).toEqual([])
    const json = { type: 'object', required: ['rows'] }
    expect((await told(answering({ rows: 1 }, json))).warnings).toEqual([])
    expect((await told(answering({}, json))).warnings).toHaveLength(1)
  })

  it('is not checked in production', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    try {
      expect((await told(answering({ rows: 'none' }))).warnings).toEqual([])
    } finally {
      vi.unstubAllEnvs()
    }
  })

  it('is published in OpenAPI and to the Bazaar, with an example', async () => {
    const { url } = await open([answering({ rows: [] })])
    const { components, paths } = await json(await fetch(`${url}/openapi.json`))
    const described = { type: 'object', required: ['rows'], properties: { rows: { type: 'array' } } }
    expect(components.schemas['work.output']).toMatchObject(described)
    const { schema } = paths['/work'].post.responses['200'].content['application/json']
    expect(schema).toEqual({ $ref: '#/components/schemas/work.output' })
    const { bazaar } = challengeIn(await ask(`${url}/work`)).extensions as never as Record<string, never>
    expect(bazaar).toMatchObject({
      info: { output: { type: 'json', example: { rows: [expect.any(Number)] } } },
      schema: { properties: { output: { properties: { example: described } } } },
    })
  })
})
