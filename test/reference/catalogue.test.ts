/** The catalogue of the specification (2.12), word for word; no network is needed to read it. */
import { afterAll, describe, expect, it } from 'vitest'
import { referenceAgent } from '../../agents/reference/agent.js'
import { sourcesOf } from '../../agents/reference/sources.js'
import { networkFacts } from '../../src/domain/network-definition.js'
import { openapi } from '../../src/domain/openapi-document.js'
import { createServer, manifest, type Network, USDC_ASSET_ID } from '../../src/index.js'
import { LOCALNET } from '../support/localnet.js'

const payTo = 'HOAUXBIQXBFMV462675FJHAVEX4KYWRJWYZPFXMEDU7PGDMZOHOUGEYXSM'
const sources = sourcesOf({ network: 'mainnet' })
const agentOn = (network: Network) => referenceAgent({ payTo, network, sources })
afterAll(() => sources.close())

describe('on mainnet', () => {
  const listed = manifest(agentOn('mainnet'), 'https://agent.example/api')

  it('sells what the specification lists, at its prices', () => {
    expect(listed).toMatchObject({
      version: '0.1.0',
      network: 'mainnet',
      skills: ['x402', 'verification', 'trust', 'text'],
    })
    const rows = listed.endpoints.map(({ name, method, price, url }) => [name, method, price, url])
    expect(rows).toEqual([
      ['x402-check', 'POST', '$0.02', 'https://agent.example/api/x402-check'],
      ['payee-check', 'POST', '$0.01', 'https://agent.example/api/payee-check'],
      ['summarize', 'POST', '$0.01', 'https://agent.example/api/summarize'],
      ['verify-settlement', 'POST', '$0.02', 'https://agent.example/api/verify-settlement'],
    ])
    expect(USDC_ASSET_ID.mainnet).toBe(31566704)
  })

  it('takes the fields that the specification lists', () => {
    expect(inputsOf(listed.endpoints)).toEqual({
      'x402-check': {
        required: ['url'],
        fields: { url: 'string', method: 'string GET POST', body: 'object' },
      },
      'payee-check': {
        required: ['address'],
        fields: { address: 'string 58-58', network: 'string testnet mainnet' },
      },
      summarize: { required: ['text'], fields: { text: 'string 1-', max: 'number 40-2000' } },
      'verify-settlement': {
        required: ['txid'],
        fields: { txid: 'string 52-52', network: 'string testnet mainnet' },
      },
    })
  })

  it('documents every answer in the OpenAPI document', () => {
    const document = openapi(agentOn('mainnet'), 'https://agent.example/api')
    for (const { name } of listed.endpoints) {
      const operation = document.paths[`/${name}`]!.post as {
        responses: { 200: { content: Record<string, { schema: unknown }> } }
      }
      const pointer = { $ref: `#/components/schemas/${name}.output` }
      expect(operation.responses[200].content['application/json']?.schema).toEqual(pointer)
      expect(document.components.schemas).toHaveProperty([`${name}.output`, 'type'], 'object')
    }
  })

  it('is listable by facilitators: nothing is warned of', () => {
    const warnings: string[] = []
    const warn = (_: object, message: string) => void warnings.push(message)
    const logger = { debug() {}, info() {}, warn, error: warn }
    createServer(agentOn('mainnet'), { logger, basePath: '/api', facilitatorUrl: 'http://127.0.0.1:9' })
    expect(warnings).toEqual([])
  })
})

describe('on testnet', () => {
  it('sells summaries alone', () => {
    const { network, endpoints } = manifest(agentOn('testnet'), 'https://agent.example/api')
    expect(network).toBe('testnet')
    expect(endpoints.map(({ name, price }) => [name, price])).toEqual([['summarize', '$0.01']])
    expect(USDC_ASSET_ID.testnet).toBe(10458941)
  })
})

it('on a network of one’s own sells summaries alone', () => {
  const { network, endpoints } = manifest(agentOn(LOCALNET), 'https://agent.example/api')
  expect(network).toBe(networkFacts(LOCALNET).caip2)
  expect(endpoints.map(({ name }) => name)).toEqual(['summarize'])
})

it('is on no network that nobody defined', () => {
  expect(() => agentOn('devnet' as Network)).toThrow(/network/)
})

interface Field {
  readonly type: string
  readonly enum?: readonly string[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
}

function inputsOf(endpoints: ReturnType<typeof manifest>['endpoints']) {
  return Object.fromEntries(
    endpoints.map(({ name, input }) => {
      const { required, properties } = input as {
        required: readonly string[]
        properties: Readonly<Record<string, Field>>
      }
      const fields = Object.entries(properties).map(([key, field]) => [key, shapeOf(name, key, field)])
      return [name, { required, fields: Object.fromEntries(fields) }]
    }),
  )
}

/** The specification gives no length to the URL; ours is a bound against abuse. */
function shapeOf(name: string, key: string, { type, enum: values, ...field }: Field): string {
  if (name === 'x402-check' && key === 'url') return type
  if (values) return [type, ...values].join(' ')
  const { minLength, maxLength, minimum = minLength, maximum = maxLength } = field
  return minimum === undefined ? type : `${type} ${minimum}-${maximum ?? ''}`
}
