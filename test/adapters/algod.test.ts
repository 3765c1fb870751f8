import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { algodClient } from '../../src/adapters/algorand/algod-and-indexer.js'
import { bigintIn, nodeClient, responseBody, textIn, uint64In } from '../../src/adapters/algorand/ask-node.js'
import { fetchExchange } from '../../src/adapters/outbound/fetch-exchange.js'
import { undiciExchange } from '../../src/adapters/outbound/undici-exchange.js'
import { systemClock } from '../../src/ports/clock.js'
import type { ExchangeReply, MakeExchange } from '../../src/ports/exchange.js'
import { type FakeNode, fakeNode } from '../support/fake-node.js'

const PARAMS = { 'last-round': 7, 'min-fee': 1000, fee: 0, 'genesis-hash': 'hash', 'genesis-id': 'x' }

let node: FakeNode
let close: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const closing of close) await closing()
  close = []
})

describe('integers of a node', () => {
  it('keep their digits up to 64 bits, and text stays as it is', () => {
    const number = fc.oneof(fc.nat(), fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }))
    fc.assert(
      fc.property(
        number,
        fc.string(),
        fc.double({ noNaN: true, noDefaultInfinity: true }).map(found => found + 0),
        (amount, note, other) => {
          const text = `{"note":${JSON.stringify(note)},"amount":${amount},"list":[${amount}],"other":${JSON.stringify(other)}}`
          const body = responseBody(200, text)!
          expect([uint64In(body, 'amount'), body.note, Number(body.other)]).toEqual([
            BigInt(amount),
            note,
            other,
          ])
        },
      ),
    )
    expect(responseBody(200, '{"note":"1234567890123456789 \\"1234567890123456789"}')).toEqual({
      note: '1234567890123456789 "1234567890123456789',
    })
  })

  it('may be the largest of 64 bits', () => {
    expect(uint64In(responseBody(200, '{"amount":18446744073709551615}')!, 'amount')).toBe(2n ** 64n - 1n)
  })

  it.each([
    '18446744073709551616',
    '1e16',
    '"-1234567890123456"',
    '"1234567890123456.5"',
    '"1234567890123456 and more"',
    '"twelve"',
    '-1',
    '0.5',
    'true',
    'null',
  ])('are no other numbers, and no text: %s', amount => {
    const body = responseBody(200, `{"amount":${amount}}`)!
    for (const read of [uint64In, bigintIn])
      expect(() => read(body, 'amount')).toThrow(
        'The Algorand node gave no usable answer: amount is no whole number',
      )
  })

  it('of 64 bits may stand before a text that never ends', () => {
    expect(() => responseBody(200, `[1234567890123456,"${'\\"'.repeat(200_000)}`)).toThrow(SyntaxError)
  })
})

const EXCHANGES = { undici: undiciExchange, fetch: fetchExchange(systemClock) }

describe.each(Object.entries(EXCHANGES))('over %s', (_, exchange) => {
  async function client(answer: Parameters<typeof fakeNode>[0], path = '', nodeTimeoutMs?: number) {
    node = await fakeNode(answer)
    const algod = algodClient({ url: node.url + path, token: 'secret', nodeTimeoutMs, exchange })
    close = [() => algod.close(), () => node.close()]
    return algod
  }

  describe('a node', () => {
    it('is asked under its base path, with its token', async () => {
      const algod = await client(() => PARAMS, '/algod/')
      expect(await algod.suggestedParams()).toEqual({
        lastRound: 7n,
        minFeeMicroAlgos: 1_000n,
        feePerByteMicroAlgos: 0n,
        genesisHash: 'hash',
        genesisId: 'x',
      })
      expect(node.requests).toEqual(['/algod/v2/transactions/params'])
      expect(node.headers[0]).toMatchObject({ accept: 'application/json', 'x-algo-api-token': 'secret' })
    })

    it('that does not know a transaction or a holding says so', async () => {
      const algod = await client((_, response) => {
        response.statusCode = 404
        return { message: 'not found' }
      })
      expect(await algod.confirmedRound('T')).toBeUndefined()
      expect(await algod.assetHolding('A', 1)).toBeUndefined()
      await expect(algod.blockTxIds(5n)).rejects.toMatchObject({ code: 'node_unavailable' })
    })

    it('tells confirmed rounds, blocks and holdings', async () => {
      const algod = await client(path => {
        if (path.includes('pending/NEW')) return { 'pool-error': '' }
        if (path.includes('pending')) return { 'confirmed-round': 9 }
        if (path.includes('blocks/1')) return { blockTxids: ['A', 'B'] }
        if (path.includes('blocks')) return { blockTxids: null }
        return { 'asset-holding': { amount: 5, 'is-frozen': true }, round: 1 }
      })
      expect(await algod.confirmedRound('OLD')).toBe(9n)
      expect(await algod.confirmedRound('NEW')).toBeUndefined()
      expect(await algod.blockTxIds(1n)).toEqual(['A', 'B'])
      expect(await algod.blockTxIds(2n)).toEqual([])
      expect(await algod.assetHolding('A', 1)).toEqual({ amount: 5n, frozen: true })
    })
  })

  describe('no usable answer is node_unavailable', () => {
    it.each<[string, Parameters<typeof fakeNode>[0]]>([
      ['500', (_, response) => void response.writeHead(500).end('{"last-round":1}')],
      ['a redirect', (_, response) => void response.writeHead(302, { location: '/' }).end()],
      ['HTML', (_, response) => void response.end('<html>')],
      ['a list', () => []],
      ['a round as text', () => ({ ...PARAMS, 'last-round': '7' })],
      ['a round beyond 2^53', () => ({ ...PARAMS, 'last-round': 2 ** 60 })],
      ['a negative fee', () => ({ ...PARAMS, 'min-fee': -1 })],
      ['no genesis id', () => ({ ...PARAMS, 'genesis-id': undefined })],
      ['no genesis hash', () => ({ ...PARAMS, 'genesis-hash': undefined })],
      ['a cut connection', (_, response) => void response.destroy()],
      ['more than 8 MB', (_, response) => void response.end(Buffer.alloc(9 * 1024 * 1024, 0x20))],
    ])('%s', async (_, answer) => {
      const algod = await client(answer)
      await expect(algod.suggestedParams()).rejects.toMatchObject({ code: 'node_unavailable', status: 503 })
    })

    it.each<[string, Parameters<typeof fakeNode>[0]]>([
      ['silence', () => undefined],
      ['a body that never ends', (_, response) => void response.write('{"last-round":')],
    ])('%s, after the time allowed', async (_, answer) => {
      const algod = await client(answer, '', 60)
      await expect(algod.lastRound()).rejects.toMatchObject({ code: 'node_unavailable' })
    })
  })

  describe('a question that is posted', () => {
    async function posted(answer: Parameters<typeof fakeNode>[0], nodeTimeoutMs?: number) {
      node = await fakeNode(answer)
      const asked = nodeClient({ url: node.url, token: 'secret', nodeTimeoutMs, exchange })
      close = [() => asked.close(), () => node.close()]
      return asked.ask('/v2/transactions', { body: Buffer.from('bytes') })
    }

    it('carries its bytes and the token', async () => {
      expect(await posted(() => ({ txId: 'T' }))).toEqual({ status: 200, body: { txId: 'T' } })
      expect(node.headers[0]).toMatchObject({
        'content-length': '5',
        'content-type': 'application/msgpack',
        'x-algo-api-token': 'secret',
      })
    })

    it.each([400, 404])('%i with a node’s words is an answer', async status => {
      const answer = await posted((_, response) => void response.writeHead(status).end('{"message":"no"}'))
      expect(answer).toEqual({ status, message: 'no' })
    })

    it.each<[string, Parameters<typeof fakeNode>[0]]>([
      ['a proxy’s 400', (_, response) => void response.writeHead(400).end('<html>')],
      ['400 without a message', (_, response) => void response.writeHead(400).end('{}')],
      ['401', (_, response) => void response.writeHead(401).end('{"message":"no"}')],
      ['a redirect', (_, response) => void response.writeHead(307, { location: '/' }).end()],
      ['a cut connection', (_, response) => void response.destroy()],
      ['silence', () => undefined],
    ])('%s is none', async (_, answer) => {
      await expect(posted(answer, 60)).rejects.toMatchObject({ code: 'node_unavailable' })
    })
  })
})

it('what was no usable answer is said', async () => {
  expect(() => responseBody(500, '{}')).toThrow('gave no usable answer: status 500')
  expect(() => responseBody(200, '[]')).toThrow('the answer is no JSON object')
  expect(() => textIn({ id: 7 }, 'id')).toThrow('id is no text')
  let reply: ExchangeReply = { failed: 'it hung up' }
  let destroyed = 0
  const exchange: MakeExchange = () => ({
    open: async () => {},
    send: async () => reply,
    close: async () => {},
    destroy: async () => void destroyed++,
  })
  const client = nodeClient({ url: 'http://node', exchange })
  await expect(client.get('/')).rejects.toThrow('gave no usable answer: it hung up')
  reply = { status: 404, text: '' }
  expect(await client.find('/')).toBeUndefined()
  await expect(client.get('/')).rejects.toThrow('status 404')
  reply = { status: 400, text: '{"message":7}' }
  await expect(client.ask('/')).rejects.toThrow('status 400')
  await client.close()
  expect(destroyed).toBe(1)
})

it('what a client loads with its first question takes no time of the node’s', async () => {
  let timers = 0
  const after = () => {
    timers++
    return () => {}
  }
  node = await fakeNode(() => ({ round: 1 }))
  const client = nodeClient({ url: node.url, clock: { after } })
  close = [() => client.close(), () => node.close()]
  const asked = client.get('/v2/status')
  expect(timers).toBe(0)
  expect(await asked).toEqual({ round: 1 })
  expect(timers).toBe(1)
})
