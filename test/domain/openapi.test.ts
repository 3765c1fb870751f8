/** The OpenAPI document: valid for a public validator, and saying what the manifest and the machine say. */
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, it } from 'vitest'
import { agent } from '../../src/domain/agent.js'
import { type EndpointOptions, endpoint } from '../../src/domain/endpoint.js'
import type { JSONSchema } from '../../src/domain/endpoint-schemas.js'
import { openapi } from '../../src/domain/openapi-document.js'

const sold = (options: Partial<EndpointOptions<JSONSchema | undefined>> & { name: string }) =>
  endpoint({ ...(options.subscription ? {} : { price: '$0.01' }), handler: () => 1, ...options })

const tree = {
  $id: 'https://seller.example/tree',
  type: 'object',
  required: ['root'],
  properties: { root: { $ref: '#/$defs/node' } },
  $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
} as JSONSchema

const seller = agent({
  name: 'Seller',
  handle: 'seller',
  description: 'Sells.',
  payTo: 'A'.repeat(58),
  network: 'testnet',
  endpoints: [
    sold({ name: 'plain', description: 'A plain one.', tags: ['one', 'two'] }),
    sold({ name: 'deep/er', input: tree }),
    sold({
      name: 'asked',
      method: 'GET',
      input: {
        type: 'object',
        required: ['q'],
        properties: { q: { type: 'string' }, n: { type: 'integer' } },
      },
    }),
    sold({ name: 'any', method: 'GET' }),
    sold({ name: 'window', subscription: { price: '$5', period: '30d' } }),
    sold({ name: 'counted', subscription: { price: '$5', period: '30d', calls: 9 } }),
    sold({ name: 'old', deprecated: '2026-01-01', sunset: '2026-06-01', tags: ['two'] }),
    sold({ name: 'hidden', listed: false }),
    sold({ name: 'metered', price: () => '$0.02', priceHint: 'from $0.01' }),
  ],
})

const document = JSON.parse(JSON.stringify(openapi(seller, 'https://seller.example/api/')))

describe('the OpenAPI document', () => {
  it('is valid', async () => {
    expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true })
  })

  it('refers to nothing that is not in it', () => {
    const references = JSON.stringify(document).matchAll(/"\$ref":"#([^"]+)"/g)
    const resolved = Array.from(references, ([, pointer]) =>
      pointer!
        .split('/')
        .slice(1)
        .reduce((node, step) => node?.[step], document),
    )
    expect(resolved.length).toBeGreaterThan(20)
    expect(resolved).not.toContain(undefined)
  })

  it('has the listed endpoints under their server, and no others', () => {
    expect(document.servers).toEqual([{ url: 'https://seller.example/api' }])
    expect(Object.keys(document.paths)).toEqual([
      '/plain',
      '/deep/er',
      '/asked',
      '/any',
      '/window',
      '/counted',
      '/old',
      '/metered',
    ])
    expect(document.tags).toEqual([{ name: 'one' }, { name: 'two' }])
  })

  it('says what each costs, and to whom', () => {
    expect(document.paths['/plain'].post['x-x402']).toEqual({
      scheme: 'exact',
      network: 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe',
      asset: '10458941',
      payTo: 'A'.repeat(58),
      price: '$0.01',
      pricing: 'fixed',
    })
    expect(document.paths['/window'].post['x-x402']).toMatchObject({ pricing: 'subscription', period: '30d' })
    expect(document.paths['/metered'].post['x-x402']).toMatchObject({
      price: 'from $0.01',
      pricing: 'dynamic',
    })
  })

  it('describes a body by the schema, and a GET’s query by its properties', () => {
    const { schema } = document.paths['/deep/er'].post.requestBody.content['application/json']
    expect(schema).toEqual({ $ref: '#/components/schemas/deep.er.input' })
    expect(document.components.schemas['deep.er.input'].properties.root).toEqual({
      $ref: '#/components/schemas/deep.er.input/$defs/node',
    })
    expect(document.paths['/asked'].get).not.toHaveProperty('requestBody')
    expect(document.paths['/asked'].get.parameters).toEqual(
      expect.arrayContaining([
        { name: 'q', in: 'query', required: true, schema: { type: 'string' } },
        { name: 'n', in: 'query', required: false, schema: { type: 'integer' } },
      ]),
    )
  })

  it('lists every answer that the machine can end in, with the x402 headers', () => {
    const { responses } = document.paths['/plain'].post
    expect(Object.keys(responses).sort()).toEqual(
      ['200', '400', '402', '409', '429', '500', '503', '504', 'default'].sort(),
    )
    expect(responses['200'].headers).toHaveProperty('PAYMENT-RESPONSE')
    expect(document.components.responses['402'].headers).toHaveProperty('PAYMENT-REQUIRED')
    expect(document.components.responses['409'].description).toMatch(/payment_spent/)
    expect(document.paths['/window'].post.responses['200'].headers).toHaveProperty('x-svc-subscription')
    expect(document.paths['/counted'].post['x-x402']).toMatchObject({ period: '30d', calls: 9 })
    const remaining = 'x-svc-subscription-remaining'
    expect(document.paths['/counted'].post.responses['200'].headers).toHaveProperty(remaining)
    expect(document.paths['/window'].post.responses['200'].headers).not.toHaveProperty(remaining)
  })

  it('marks what is deprecated', () => {
    expect(document.paths['/old'].post.deprecated).toBe(true)
    expect(document.paths['/plain'].post).not.toHaveProperty('deprecated')
  })
})
