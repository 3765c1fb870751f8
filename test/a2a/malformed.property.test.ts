/** Whatever is thrown at the doors for agents: a well-formed answer comes back, and no handler runs unpaid. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { messageIn, post, rpc } from '../support/doors.js'
import { openSeller, type Seller } from '../support/seller.js'

let seller: Seller
let runs = 0
beforeAll(async () => {
  const handler = () => ({ run: ++runs })
  const input = { type: 'object', required: ['text'], properties: { text: { type: 'string' } } } as const
  seller = await openSeller([
    defineEndpoint({ name: 'work', price: '$0.01', input, handler }),
    defineEndpoint({ name: 'any', price: '$0.01', handler }),
    defineEndpoint({ name: 'window', subscription: { price: '$0.01', period: '1d' }, handler }),
    defineEndpoint({ name: 'find', method: 'GET', price: '$0.01', handler }),
  ])
})
afterAll(() => seller.close())

const json = fc.jsonValue({ maxDepth: 3 })
const skill = fc.constantFrom('work', 'any', 'window', 'find', 'none', '__proto__')
const method = fc.oneof(
  fc.constantFrom('message/send', 'SendMessage', 'message/stream', 'tasks/get', 'tools/call', 'tools/list'),
  fc.constantFrom('initialize', 'ping', 'notifications/initialized', 'subscriptions/listen', '__proto__', ''),
  json,
)
const part = fc.oneof(
  fc.record({ kind: fc.constant('text'), text: fc.oneof(fc.string(), json) }),
  fc.record({ kind: fc.constant('data'), data: fc.oneof(fc.record({ text: json }), json) }),
  json,
)
const payment = fc.oneof(json, fc.record({ x402Version: json, payload: json, accepted: json }))
const params = fc.oneof(
  json,
  fc.record(
    {
      message: fc.record(
        {
          role: fc.oneof(fc.constantFrom('user', 'ROLE_USER', 'agent'), json),
          parts: fc.oneof(fc.array(part, { maxLength: 3 }), json),
          metadata: fc.oneof(fc.record({ skillId: fc.oneof(skill, json) }), json),
          taskId: json,
          contextId: json,
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  ),
  fc.record(
    {
      name: fc.oneof(skill, fc.constantFrom('get_manifest', 'search_agents'), json),
      arguments: fc.oneof(fc.record({ text: fc.string() }), fc.record({ query: json, limit: json }), json),
      _meta: fc.oneof(
        fc.record({ 'x402/payment': payment, 'svc/subscription': json }, { requiredKeys: [] }),
        json,
      ),
    },
    { requiredKeys: [] },
  ),
)
const request = fc.record(
  {
    jsonrpc: fc.oneof({ weight: 5, arbitrary: fc.constant('2.0') }, { weight: 1, arbitrary: json }),
    id: fc.oneof(fc.integer(), fc.string(), json),
    method,
    params,
  },
  { requiredKeys: [] },
)
const body = fc.oneof(
  { weight: 6, arbitrary: request.map(one => JSON.stringify(one)) },
  { weight: 1, arbitrary: fc.array(request, { maxLength: 3 }).map(batch => JSON.stringify(batch)) },
  { weight: 1, arbitrary: json.map(value => JSON.stringify(value)) },
  { weight: 1, arbitrary: fc.string() },
)
const forged = fc.option(
  payment.map(value => ({ 'payment-signature': Buffer.from(JSON.stringify(value)).toString('base64') })),
  { nil: {} },
)

/** As a client of the newest revision announces its message. */
const announced = fc.constantFrom<Record<string, string>>(
  {},
  { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'work' },
)

const RUNS = { numRuns: 400 }

describe('malformed messages', () => {
  it('at A2A are answered by one JSON-RPC error, or a quote, and run nothing', async () => {
    await fc.assert(
      fc.asyncProperty(body, forged, async (text, headers) => {
        const response = await post(`${seller.url}/a2a`, text, headers)
        const answer = await messageIn(response)
        expect(response.headers.get('content-type')).toMatch(/^application\/json/)
        expect(answer.jsonrpc).toBe('2.0')
        expect(answer.result).toBeUndefined()
        expect(answer.error).toMatchObject({ code: expect.any(Number), message: expect.any(String) })
        expect(response.status).toBeGreaterThanOrEqual(400)
        expect(answer.error!.code === -32010).toBe(response.status === 402)
        expect(response.headers.has('payment-required')).toBe(response.status === 402)
        expect(runs).toBe(0)
      }),
      RUNS,
    )
  })

  it('at MCP are answered by one message, or accepted and dropped, and run nothing', async () => {
    await fc.assert(
      fc.asyncProperty(body, announced, async (text, headers) => {
        const response = await post(`${seller.url}/mcp`, text, headers)
        expect(response.status).toBeLessThan(500)
        if (response.status === 202) {
          expect(await response.text()).toBe('')
        } else {
          const answer = await messageIn(response)
          expect(answer.jsonrpc).toBe('2.0')
          expect([answer.result, answer.error].filter(Boolean)).toHaveLength(1)
          if (answer.error)
            expect(answer.error).toMatchObject({ code: expect.any(Number), message: expect.any(String) })
        }
        expect(runs).toBe(0)
      }),
      RUNS,
    )
  })
})

describe('at A2A', () => {
  const about = (overrides: object) => ({
    ...rpc('message/send', { message: { role: 'user', parts: [{ kind: 'text', text: 'x' }] } }, 7),
    ...overrides,
  })
  const message = (fields: object) =>
    rpc('message/send', { message: { role: 'user', parts: [{ kind: 'text', text: 'x' }], ...fields } }, 7)

  const cases: [name: string, body: unknown, code: number, id: unknown][] = [
    ['no JSON', '{"jsonrpc":', -32700, null],
    ['nothing', '', -32700, null],
    ['bytes that are no text', '\u0000', -32700, null],
    ['a key that reaches prototypes', '{"jsonrpc":"2.0","id":1,"method":"x","__proto__":{}}', -32700, null],
    ['70 nested arrays', `${'['.repeat(70)}${']'.repeat(70)}`, -32700, null],
    ['a batch', [about({})], -32600, null],
    ['an empty batch', [], -32600, null],
    ['a notification', about({ id: undefined }), -32600, null],
    ['an id that is null', about({ id: null }), -32600, null],
    ['an id that is an object', about({ id: {} }), -32600, null],
    ['another version', about({ jsonrpc: '1.0' }), -32600, 7],
    ['a method that is a number', about({ method: 5 }), -32600, 7],
    ['a stream', about({ method: 'message/stream' }), -32601, 7],
    ['a task’s method', about({ method: 'tasks/get' }), -32601, 7],
    ['an inherited name as method', about({ method: 'constructor' }), -32601, 7],
    ['no params', about({ params: undefined }), -32602, 7],
    ['params that are a list', about({ params: [] }), -32602, 7],
    ['no parts', message({ parts: [] }), -32602, 7],
    ['an agent’s message', message({ role: 'agent' }), -32602, 7],
    ['an unknown skill', message({ metadata: { skillId: 'none' } }), -32602, 7],
    ['a skill that is a number', message({ metadata: { skillId: 1 } }), -32602, 7],
    ['a list as data', message({ parts: [{ kind: 'data', data: [1] }] }), -32602, 7],
    ['a file', message({ parts: [{ kind: 'file', file: { uri: 'http://x.example' } }] }), -32005, 7],
    ['a continued task', message({ taskId: 'earlier' }), -32001, 7],
  ]
  for (const [name, sent, code, id] of cases) {
    it(`${name} is ${code}`, async () => {
      const response = await post(`${seller.url}/a2a`, sent)
      const answer = await messageIn(response)
      expect(answer).toMatchObject({ jsonrpc: '2.0', id, error: { code } })
      expect(response.status).toBe(400)
    })
  }

  it('what HTTP refuses is worded as JSON-RPC too', async () => {
    const large = await post(`${seller.url}/a2a`, `"${'x'.repeat(1_100_000)}"`)
    expect(large.status).toBe(413)
    expect(await messageIn(large)).toMatchObject({
      id: null,
      error: { code: -32600, data: { code: 'body_too_large' } },
    })
    const keyed = await seller.replica({ idempotency: {} })
    const key = await post(`${keyed.url}/a2a`, about({}), { 'idempotency-key': 'two words' })
    await keyed.close()
    expect(key.status).toBe(400)
    expect(await messageIn(key)).toMatchObject({
      error: { code: -32600, data: { code: 'invalid_idempotency_key' } },
    })
    for (const method of ['PUT', 'DELETE', 'HEAD']) {
      const response = await fetch(`${seller.url}/a2a`, { method })
      expect([response.status, method]).toEqual([method === 'HEAD' ? 200 : 405, method])
    }
  })
})
