/** What the MCP door refuses before any tool is looked at, and how endpoints become tools. */
import { describe, expect, it } from 'vitest'
import { endpointTools, toolOf } from '../../src/adapters/mcp/tools-of-endpoints.js'
import { webOriginRefusal } from '../../src/adapters/mcp/transport.js'
import { defineEndpoint, type JSONSchema } from '../../src/index.js'
import type { IncomingRequest } from '../../src/ports/transport.js'
import { messageIn, post, rpc } from '../support/doors.js'
import { open } from '../support/seller.js'

const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => 1 })

describe('the MCP door', () => {
  it('takes one message, not a batch: a batch could be many calls for one limit', async () => {
    const { url } = await open([work])
    const call = rpc('tools/call', { name: 'work' })
    for (const batch of [[call, call], [call], []]) {
      const response = await post(`${url}/mcp`, batch)
      expect(response.status).toBe(400)
      expect(await messageIn(response)).toMatchObject({ id: null, error: { code: -32600 } })
    }
  })

  it('answers GET and DELETE with 405, has no sessions, and no stream to listen to', async () => {
    const { url } = await open([work])
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const response = await fetch(`${url}/mcp`, { method })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST, OPTIONS'])
    }
    const listed = await post(`${url}/mcp`, rpc('tools/list', {}))
    expect(listed.headers.get('mcp-session-id')).toBeNull()
    expect(listed.headers.get('cache-control')).toBe('no-store')
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const listen = rpc('subscriptions/listen', { filter: { tools: true }, _meta: meta })
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' }
    const refused = await messageIn(await post(`${url}/mcp`, listen, headers))
    expect(refused.error).toBeDefined()
  })

  it('takes the most that a call may cost as a number or as its text, and says what is wrong with any other', async () => {
    const { url } = await open([work], { about: { balance: { amounts: ['$1'], period: '1h' } } })
    const said = async (most: unknown) => {
      const keys = { 'svc/balance': 'svc_of_nobody', 'svc/idempotency-key': 'a-key-of-the-mcp-door' }
      const params = { name: 'work', _meta: { ...keys, 'svc/max-charge': most } }
      return JSON.stringify(await messageIn(await post(`${url}/mcp`, rpc('tools/call', params))))
    }
    for (const most of [9_999, '9999'])
      expect(await said(most)).toContain('The call costs $0.01, which is more than x-svc-max-charge')
    for (const most of [-1, 0.5, 1e30, 'much']) expect(await said(most)).toContain('invalid_max_charge')
    for (const most of [{}, [9_999], '']) expect(await said(most)).toContain('a limit in _meta')
  })

  it('a call without an id is dropped, and so is not run', async () => {
    const seller = await open([work])
    const response = await post(`${seller.url}/mcp`, {
      jsonrpc: '2.0',
      method: 'tools/call',
      params: { name: 'work' },
    })
    expect([response.status, await response.text()]).toEqual([202, ''])
    expect(seller.ended).toEqual([])
  })

  it('lets programs in, pages of its own origin and of this machine, and no other page', async () => {
    const { url } = await open([work])
    const status = async (headers: Record<string, string>) =>
      (await post(`${url}/mcp`, rpc('tools/list', {}), headers)).status
    expect(await status({})).toBe(200)
    expect(await status({ origin: url })).toBe(200)
    expect(await status({ origin: 'http://localhost:6274' })).toBe(200)
    expect(await status({ origin: 'https://evil.example' })).toBe(403)
    expect(await status({ origin: 'null' })).toBe(403)
    // A name that was rebound to this machine: page and host agree, and the caller is next door.
    expect(await status({ origin: 'http://evil.example', 'x-forwarded-host': 'evil.example' })).toBe(403)
  })

  it('judges a page by origin, host and caller alone', () => {
    const judged = (origin: string | undefined, baseUrl: string, clientAddress: string) =>
      webOriginRefusal({ headers: { origin }, baseUrl, clientAddress } as unknown as IncomingRequest) ===
      undefined
    expect(judged('https://agent.example', 'https://agent.example/api', '198.51.100.7')).toBe(true)
    expect(judged('https://other.example', 'https://agent.example', '198.51.100.7')).toBe(false)
    expect(judged('https://agent.example', 'https://agent.example', '127.0.0.1')).toBe(false)
    expect(judged('https://agent.example', 'https://agent.example', '::ffff:127.0.0.1')).toBe(false)
    expect(judged(undefined, 'https://agent.example', '127.0.0.1')).toBe(true)
    expect(judged('http://[::1]:3000', 'http://127.0.0.1:4021', '::1')).toBe(true)
    expect(judged('file://', 'http://127.0.0.1:4021', '::1')).toBe(false)
    expect(judged('http://127.evil.example', 'https://agent.example', '198.51.100.7')).toBe(false)
  })

  it('says what is missing where an input that is no object did not come', async () => {
    const input = { type: 'array' } as const
    const list = defineEndpoint({ name: 'list', price: '$0.01', input, handler: () => 1 })
    const { url } = await open([list])
    const { result } = await messageIn(await post(`${url}/mcp`, rpc('tools/call', { name: 'list' })))
    const { code, message } = result!.structuredContent!.error as { code: string; message: string }
    expect([code, message]).toEqual(['invalid_input', 'This takes an input. You were not charged.'])
  })

  it('ignores a payment in a header: it would be for the whole connection', async () => {
    const { url } = await open([work])
    const headers = { 'payment-signature': Buffer.from('{}').toString('base64') }
    const { result } = await messageIn(await post(`${url}/mcp`, rpc('tools/call', { name: 'work' }), headers))
    expect(result?.structuredContent?.error).toBe('Payment required')
  })

  it('answers at the root and under the base path', async () => {
    const { url } = await open([work], { basePath: '/api' })
    for (const path of ['/mcp', '/api/mcp', '/a2a', '/api/a2a']) {
      expect((await post(`${url}${path}`, '[]')).status, path).toBe(400)
    }
  })
})

describe('a tool', () => {
  const made = (input: unknown) =>
    toolOf({ name: 'a/b', description: '', input: input as JSONSchema, price: '$1' })

  it('has slashes turned into underscores, and says what it costs', () => {
    const { tool } = toolOf({ name: 'a/b-c', description: 'Does it.', price: '$1', period: '30d' })
    expect(tool.name).toBe('a_b-c')
    expect(tool.description).toBe('Does it.\nCosts $1 in USDC for 30d, paid with x402.')
    expect(tool.inputSchema).toEqual({ type: 'object' })
  })

  it('keeps an object’s schema, without the names of documents, and with booleans spelled out', () => {
    const input = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: 'https://a.example/x',
      type: 'object',
      properties: { a: true, b: false, c: { $ref: '#/$defs/c' } },
      $defs: { c: { type: 'string' } },
    }
    expect(made(input).tool.inputSchema).toEqual({
      type: 'object',
      properties: { a: {}, b: { not: {} }, c: { $ref: '#/$defs/c' } },
      $defs: { c: { type: 'string' } },
    })
    expect(made(input).inputOf({ a: 1 })).toEqual({ a: 1 })
  })

  it('asks for what is no object as one member', () => {
    const { tool, inputOf } = made({ type: 'array', items: { $ref: '#/$defs/x' }, $defs: { x: {} } })
    expect(tool.inputSchema).toEqual({
      type: 'object',
      required: ['input'],
      properties: {
        input: { type: 'array', items: { $ref: '#/properties/input/$defs/x' }, $defs: { x: {} } },
      },
    })
    expect(inputOf({ input: [1] })).toEqual([1])
  })

  it('cannot take a free tool’s name', () => {
    const endpoint = defineEndpoint({ name: 'ok', price: '$1', handler: () => 1 })
    const taken = { ...endpoint, name: 'get/manifest' }
    expect(() => endpointTools([taken])).toThrow(expect.objectContaining({ code: 'invalid_endpoint' }))
    expect([...endpointTools([endpoint, { ...taken, listed: false }]).keys()]).toEqual(['ok'])
  })
})
