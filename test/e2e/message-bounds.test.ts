/** What a message may hold beside the input of a call, and how large a payment may be, whatever carries it. */
import { describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { messageIn, messageOf, post, rpc } from '../support/doors.js'
import { ask, challengeIn, open, presenting } from '../support/seller.js'

const work = defineEndpoint({ name: 'work', price: '$0.01', handler: ({ body }) => body })
const long = 'x'.repeat(40_000)
const wide = Array.from({ length: 5_000 }, () => 0)

function initialize(clientInfo: object, capabilities = {}) {
  const named = { name: 'c', version: '1', ...clientInfo }
  return rpc('initialize', { protocolVersion: '2025-06-18', capabilities, clientInfo: named })
}

async function answered(url: string, message: unknown) {
  const response = await post(url, message)
  const text = await response.clone().text()
  return { status: response.status, bytes: text.length, ...(await messageIn(response)) }
}

describe('beside the input of a call', () => {
  it('a message of MCP or A2A is small, or refused before anything reads it', async () => {
    const { url, ended } = await open([work])
    const large = {
      mcp: [
        initialize({ icons: wide }),
        initialize({ icons: [{ src: long }] }),
        initialize({}, { experimental: Object.fromEntries(wide.map((_, at) => [`k${at}`, 0])) }),
        rpc('tools/list', { _meta: { wide } }),
        rpc('none', { wide }),
        rpc('tools/call', { name: 'none', arguments: { wide } }),
        rpc('tools/call', { name: 'work', arguments: wide }),
        rpc('tools/call', { name: 'work', arguments: {}, _meta: { 'svc/subscription': long } }),
        { ...rpc('tools/list', {}), wide },
        rpc(long, {}),
      ],
      a2a: [
        rpc('message/send', { ...messageOf('work', [{ data: {} }]), wide }),
        rpc('message/send', { message: { role: 'user', parts: [{ data: {} }], messageId: long } }),
        rpc('none', messageOf('work', [{ data: { wide } }])),
      ],
    }
    for (const [door, messages] of Object.entries(large)) {
      for (const message of messages) {
        const { status, id, error, bytes } = await answered(`${url}/${door}`, message)
        expect({ status, id, code: error?.data?.code }).toEqual({
          status: 400,
          id: 1,
          code: 'message_too_large',
        })
        expect(bytes).toBeLessThan(300)
      }
    }
    expect(ended).toEqual([])
  })

  it('an id is short, because the answer repeats it', async () => {
    const { url } = await open([work])
    for (const door of ['mcp', 'a2a']) {
      const { status, id, bytes } = await answered(`${url}/${door}`, rpc('tools/list', {}, 'i'.repeat(257)))
      expect({ status, id }).toEqual({ status: 400, id: null })
      expect(bytes).toBeLessThan(300)
      expect(await answered(`${url}/${door}`, rpc('none', {}, 'i'.repeat(256)))).toMatchObject({
        id: 'i'.repeat(256),
        error: { code: -32601 },
      })
    }
  })

  it('what the MCP library finds wrong is said in one line', async () => {
    const { url } = await open([work])
    for (const icons of [wide.slice(0, 400), wide.slice(0, 20)]) {
      const { id, error, bytes } = await answered(`${url}/mcp`, initialize({ icons }))
      expect({ id, code: error?.code }).toEqual({ id: 1, code: expect.any(Number) })
      expect(error?.message).toBe('The message does not have the form that MCP gives to its method.')
      expect(bytes).toBeLessThan(300)
    }
  })

  it('the input itself may be as large as the endpoint reads', async () => {
    const { url } = await open([work])
    const body = { text: 'x'.repeat(900_000), wide }
    const byMcp = await answered(`${url}/mcp`, rpc('tools/call', { name: 'work', arguments: body }))
    expect(byMcp.result?.structuredContent?.error).toBe('Payment required')
    const byA2a = await answered(`${url}/a2a`, rpc('message/send', messageOf('work', [{ data: body }])))
    expect(byA2a.error?.code).toBe(-32010)
  })

  it('a path that is made of a message is no longer than one that is asked for by HTTP', async () => {
    const item = defineEndpoint({ name: 'item', path: '/items/:id', price: '$0.01', handler: () => ({}) })
    const { url } = await open([item])
    // It took the process some minutes to look for what may be dropped from such a path.
    const body = { params: { id: `${'.'.repeat(900_000)}x` } }
    const byMcp = await answered(`${url}/mcp`, rpc('tools/call', { name: 'item', arguments: body }))
    expect(byMcp.result?.structuredContent).toMatchObject({ error: { code: 'invalid_path' } })
    const byA2a = await answered(`${url}/a2a`, rpc('message/send', messageOf('item', [{ data: body }])))
    expect(byA2a.error?.data?.code).toBe('invalid_path')
  })

  it('a skill may be asked for by a hundred thousand parts', async () => {
    const { url } = await open([work], { maxBodyBytes: 4_000_000 })
    const parts = Array.from({ length: 150_000 }, () => ({ data: {} }))
    expect((await answered(`${url}/a2a`, rpc('message/send', messageOf('work', parts)))).error?.code).toBe(
      -32010,
    )
  })
})

describe('a payment', () => {
  const largest = { x402Version: 2, payload: { x: 'x'.repeat(65_536 - 24) } }
  const oversized = [
    { x402Version: 2, payload: { x: 'x'.repeat(65_536) } },
    { x402Version: 2, payload: { wide: wide.slice(0, 2_048) } },
  ]
  const why = /larger than a payment can be/

  it('has one bound in a header, in MCP’s _meta and in a message of A2A, and is not verified above it', async () => {
    const { url, sandbox } = await open([work], { advanced: { requireReadable: false } })
    // It is there until the facilitator is asked once.
    sandbox.faults.set('verify', 'refuse', { times: 1 })
    const byMcp = async (payment: object) => {
      const call = rpc('tools/call', { name: 'work', arguments: {}, _meta: { 'x402/payment': payment } })
      return (await answered(`${url}/mcp`, call)).result?.structuredContent?.error
    }
    const byA2a = async (payment: object) => {
      const metadata = { 'x402.payment.status': 'payment-submitted', 'x402.payment.payload': payment }
      const message = { role: 'user', parts: [{ data: {} }], taskId: 't', metadata }
      return (await answered(`${url}/a2a`, rpc('message/send', { message }))).error
    }
    for (const payment of oversized) {
      expect(await byMcp(payment)).toMatch(why)
      expect(await byA2a(payment)).toMatchObject({ code: -32602, message: expect.stringMatching(why) })
    }
    expect(sandbox.faults.list()).toHaveLength(1)
    expect(await byMcp(largest)).toMatch(/refused_by_sandbox_fault/)
    expect(sandbox.faults.list()).toEqual([])
    expect(await byA2a(largest)).toMatchObject({ code: -32001 })
    // A Node's own bound on headers is lower; a host with `fetch` may have none.
    const wideHeader = await ask(`${url}/work`, { headers: presenting(oversized[1]), body: {} })
    expect(challengeIn(wideHeader).error).toMatch(why)
  })
})
