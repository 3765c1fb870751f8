/** `svc mcp`: a desktop client that cannot pay, a wallet with limits between it and an agent, and an agent over HTTP. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { toolServer } from '../../src/adapters/mcp/tool-server.js'
import { defineEndpoint, SvcClient, SvcError } from '../../src/index.js'
import { bridgeTo } from '../../src/mcp-buyer/mcp-bridge.js'
import { owedAnswers } from '../../src/mcp-buyer/owed-answers.js'
import { MAIN, svc } from '../cli/run.js'
import type { RpcResult } from '../support/doors.js'
import { gate, gated } from '../support/gate.js'
import { NOTHING, onePayment, watchLedger } from '../support/official.js'
import { open, openSeller, type Seller } from '../support/seller.js'

let seller: Seller
beforeAll(async () => {
  seller = await openSeller(
    [
      defineEndpoint({
        name: 'text/shout',
        price: '$0.01',
        input: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
        handler: ({ body }) => ({ shouted: body.text.toUpperCase() }),
      }),
      defineEndpoint({
        name: 'square',
        method: 'GET',
        price: '$0.01',
        input: { type: 'object', required: ['n'], properties: { n: { type: 'number' } } },
        handler: ({ body }) => String((body.n as number) ** 2),
      }),
      defineEndpoint({ name: 'item', path: '/items/:id', price: '$0.01', handler: ({ params }) => params }),
      defineEndpoint({ name: 'dear', price: '$0.06', handler: () => 'dear' }),
      defineEndpoint({
        name: 'image',
        price: '$0.01',
        handler: () => new Response(new Uint8Array([1, 2]), { headers: { 'content-type': 'image/png' } }),
      }),
    ],
    { basePath: '/api' },
  )
})
afterAll(() => seller.close())

const clients: Client[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
})

interface Desktop {
  call(name: string, args?: Record<string, unknown>): Promise<RpcResult>
  readonly client: Client
  readonly address: string
}

async function desktop(label: string, flags: readonly string[] = [], paying = true): Promise<Desktop> {
  const { address, mnemonic } = seller.sandbox.accounts(label)
  const client = new Client({ name: 'desktop', version: '1.0.0' })
  clients.push(client)
  const env = {
    PATH: process.env.PATH!,
    SVC_SANDBOX: seller.sandbox.url,
    ...(paying && { SVC_MNEMONIC: mnemonic }),
  }
  const args = [MAIN, 'mcp', '--url', `${seller.url}/api`, ...flags]
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }))
  const call = async (name: string, input: Record<string, unknown> = {}) =>
    (await client.callTool({ name, arguments: input })) as unknown as RpcResult
  return { client, address, call }
}

describe('svc mcp', () => {
  it('offers the agent’s tools, pays for what is called, and shows the receipt', async () => {
    const { client, call, address } = await desktop('desk')
    const { tools } = await client.listTools()
    const names = ['text_shout', 'square', 'item', 'dear', 'image', 'get_manifest', 'search_agents']
    expect(tools.map(({ name }) => name)).toEqual(names)
    const moved = watchLedger(seller.sandbox, address)
    const { structuredContent, content, _meta } = await call('text_shout', { text: 'hi' })
    expect(structuredContent).toEqual({ shouted: 'HI' })
    expect(content).toEqual([{ type: 'text', text: '{"shouted":"HI"}' }])
    const receipt = _meta!['x402/payment-response'] as { transaction: string }
    expect(moved()).toEqual(onePayment(10_000n, receipt.transaction))
    expect((await call('square', { n: 3 })).content).toEqual([{ type: 'text', text: '9' }])
    // An endpoint that takes anything wants no input of a model.
    expect(tools.find(({ name }) => name === 'item')!.inputSchema).toMatchObject({ required: ['params'] })
    expect((await call('item', { params: { id: '7' } })).structuredContent).toEqual({ id: '7' })
  })

  it('holds the limits of a call and of a day, whatever is asked of it', async () => {
    const { call, address } = await desktop('frugal', ['--max-price', '0.05', '--max-per-day', '0.02'])
    const moved = watchLedger(seller.sandbox, address)
    const codeOf = ({ structuredContent }: RpcResult) => (structuredContent!.error as { code: string }).code
    expect(codeOf(await call('dear'))).toBe('price_above_max')
    expect(moved()).toEqual(NOTHING)
    for (const text of ['a', 'b']) expect((await call('text_shout', { text })).isError).toBeFalsy()
    expect(codeOf(await call('text_shout', { text: 'c' }))).toBe('daily_cap_reached')
    expect(moved()).toMatchObject({ paid: 20_000n, received: 20_000n })
  })

  it('without a wallet has the free tools, and says what is missing for the others', async () => {
    const { call } = await desktop('poor', [], false)
    expect((await call('get_manifest')).structuredContent).toMatchObject({ handle: 'test-agent' })
    expect((await call('search_agents')).structuredContent).toMatchObject({
      error: { code: 'registry_not_configured' },
    })
    expect(await call('text_shout', { text: 'x' })).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'no_signer' } },
    })
  })

  it('ends with one line where there is no agent', async () => {
    const { code, stdout, stderr } = await svc(['mcp', '--url', 'http://127.0.0.1:9'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^svc: [^\n]+ \(network_error\)\n$/)
  })
})

describe('the bridge', () => {
  const call = { meta: {}, signal: new AbortController().signal }

  it('pays at the host that it was started for, whatever host a manifest names', async () => {
    const asked: string[] = []
    const manifest = (await (await fetch(`${seller.url}/.well-known/svc.json`)).json()) as {
      endpoints: object[]
    }
    const endpoints = manifest.endpoints.map(entry => ({ ...entry, url: 'https://evil.example/api/dear' }))
    const client = new SvcClient({
      mnemonic: seller.sandbox.wallet.mnemonic,
      network: 'testnet',
      async fetchImpl(input) {
        asked.push(String(input))
        return Response.json({ ...manifest, endpoints })
      },
    })
    const toolbox = await bridgeTo('https://agent.example/base', client)
    await toolbox.call({ ...call, name: 'dear', args: {} })
    expect(asked).toEqual([
      'https://agent.example/base/.well-known/svc.json',
      'https://agent.example/api/dear',
    ])
  })

  const otherHosts = {
    'a doubled slash': (host: string) => `http://h//${host}/inner`,
    'three slashes': (host: string) => `http://h///${host}/inner`,
    'a slash behind a dot segment': (host: string) => `http://h/.//${host}/inner`,
    'a slash behind a segment that is taken back': (host: string) => `http://h/x/..//${host}/inner`,
    'a backslash': (host: string) => `http://h/\\${host}/inner`,
    'a scheme in the path': (host: string) => `http://h/http://${host}/inner`,
    'credentials in the path': (host: string) => `http://h/@${host}/inner`,
  }
  for (const [how, urlAt] of Object.entries(otherHosts)) {
    for (const method of ['POST', 'GET']) {
      it(`asks and pays no other host by ${how} in the path of a ${method}`, async () => {
        const inner = await open(
          [
            defineEndpoint({
              name: 'inner',
              price: '$0.01',
              method: method as 'GET',
              handler: () => 'inside',
            }),
          ],
          { sandbox: seller.sandbox },
        )
        const asked: string[] = []
        inner.server.prependListener('request', ({ url = '' }) => asked.push(url))
        const url = urlAt(new URL(inner.url).host)
        const endpoints = [{ name: 'inner', description: '', url, method, price: '$0.01' }]
        const seen: string[] = []
        const agent = createServer((req, res) => {
          seen.push(req.url!)
          res.setHeader('content-type', 'application/json')
          if (req.url !== '/.well-known/svc.json') res.statusCode = 404
          res.end(JSON.stringify({ name: 'A', handle: 'a-a', network: 'testnet', payTo: 'A', endpoints }))
        }).listen(0, '127.0.0.1')
        await once(agent, 'listening')
        const { address, mnemonic } = seller.sandbox.wallet
        const { algodUrl } = seller.sandbox
        const client = new SvcClient({ mnemonic, network: 'testnet', algodUrl, maxPrice: '$0.01' })
        const moved = watchLedger(seller.sandbox, address)
        const toolbox = await bridgeTo(`http://127.0.0.1:${(agent.address() as AddressInfo).port}`, client)
        const { isError } = await toolbox.call({ ...call, name: 'inner', args: {} })
        agent.closeAllConnections()
        agent.close()
        expect({ asked, isError }).toEqual({ asked: [], isError: true })
        expect(moved()).toEqual(NOTHING)
        expect(seen).toHaveLength(2)
      })
    }
  }

  it('pays no more than its tool says, and tells the price that the agent has now', async () => {
    const { algodUrl, wallet } = seller.sandbox
    let isStale = true
    const client = new SvcClient({
      mnemonic: wallet.mnemonic,
      network: 'testnet',
      algodUrl,
      async fetchImpl(url, init) {
        const reply = await fetch(url, init)
        if (!isStale || !String(url).endsWith('/svc.json')) return reply
        return new Response((await reply.text()).replaceAll('"$0.01"', '"$0.001"'))
      },
    })
    const toolbox = await bridgeTo(`${seller.url}/api`, client)
    const desk = new Client({ name: 'desktop', version: '1.0.0' })
    clients.push(desk)
    const changed = new Promise<void>(resolve =>
      desk.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
    )
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await toolServer({ ...toolbox, version: '1', broke() {} }).connect(ours as never)
    await desk.connect(theirs)
    const described = async () => (await desk.listTools()).tools[0]?.description
    const shout = (text = 'hi') => desk.callTool({ name: 'text_shout', arguments: { text } })
    const tooDear = { structuredContent: { error: { code: 'price_above_max' } } }
    expect(await described()).toContain('Costs $0.001 ')
    isStale = false
    const moved = watchLedger(seller.sandbox, wallet.address)
    expect(await shout()).toMatchObject({
      structuredContent: {
        error: {
          code: 'price_above_max',
          message: expect.stringMatching(
            /costs \$0\.01, the limit is \$0\.001; nothing was paid\. The agent now lists it at '\$0\.01': the same call, made again, may cost that$/,
          ),
        },
      },
    })
    expect(moved()).toEqual(NOTHING)
    await changed
    expect(await described()).toContain('Costs $0.01 ')
    // A price that nobody has named stays refused.
    expect((await desk.listTools()).tools[1]?.description).toContain('Costs $0.001 ')
    // The model made this call together with the first, at the old price.
    expect(await shout('ho')).toMatchObject(tooDear)
    expect(moved()).toEqual(NOTHING)
    // The new price is for the calls that were refused for it, and for no other.
    expect(await shout('he')).toMatchObject(tooDear)
    for (const text of ['hi', 'ho', 'he'])
      expect(await shout(text)).toMatchObject({ structuredContent: { shouted: text.toUpperCase() } })
    expect(moved()).toMatchObject({ paid: 30_000n })
  })

  describe('over a call that was cancelled', () => {
    /** The bridge to a seller that keeps answers, and a door in its handler and in the bridge's own requests. */
    async function bridged(
      onPaid: (url: string, init?: RequestInit) => Promise<Response> = fetch,
      { endpoint, ...door } = gated(),
    ) {
      const agent = await open([endpoint], {
        sandbox: seller.sandbox,
        idempotency: { onLostResponse: 'replay' },
      })
      const { address, mnemonic } = seller.sandbox.accounts(`cancelling ${agent.url}`)
      const fetchImpl: typeof fetch = (url, init) =>
        ['PAYMENT-SIGNATURE', 'x-svc-subscription'].some(name => name in (init?.headers ?? {}))
          ? onPaid(String(url), init)
          : fetch(url, init)
      const { algodUrl } = seller.sandbox
      const client = new SvcClient({ mnemonic, network: 'testnet', algodUrl, fetchImpl, retry: false })
      const { call: callTool } = await bridgeTo(agent.url, client)
      const moved = watchLedger(seller.sandbox, address)
      const ask = (signal = call.signal, args = {}) => callTool({ ...call, signal, name: 'slow', args })
      return { ask, moved, agent, door }
    }

    it('gives the paid answer to who asks again, and pays once', async () => {
      const { ask, moved, agent, door } = await bridged()
      const cancel = new AbortController()
      const cancelled = ask(cancel.signal)
      await door.entered()
      cancel.abort()
      const again = ask()
      door.open()
      expect(await again).toMatchObject({ structuredContent: { done: true } })
      await cancelled
      expect(moved()).toMatchObject({ paid: 10_000n })
      // Who got the answer, and asks once more, asks for another one.
      expect(await ask()).toMatchObject({ structuredContent: { done: true } })
      expect(moved()).toMatchObject({ paid: 20_000n })
      expect(agent.ended.filter(({ charged }) => charged === 'yes')).toHaveLength(2)
    })

    it('of a window that was bought gives the answer to who asks again, and takes one call of it', async () => {
      const door = gate()
      let runs = 0
      const endpoint = defineEndpoint({
        name: 'slow',
        subscription: { price: '$0.01', period: '1d', calls: 3 },
        async handler() {
          if (runs++ > 0) door.enter()
          if (runs > 1) await door.opened
          return { done: true }
        },
      })
      const { ask, agent } = await bridged(fetch, { endpoint, ...door })
      await ask()
      const cancel = new AbortController()
      const cancelled = ask(cancel.signal)
      await door.entered()
      cancel.abort()
      const again = ask()
      door.open()
      expect(await again).toMatchObject({ structuredContent: { done: true } })
      await cancelled
      expect(agent.ended.map(({ final }) => final)).toEqual(['quoted', 'settled', 'served'])
    })

    it('of a window whose answer was lost is asked for with its key, and takes one call', async () => {
      let covered = 0
      const lost = async (url: string, init?: RequestInit) => {
        const reply = await fetch(url, init)
        if ('x-svc-subscription' in (init?.headers ?? {}) && ++covered === 1) throw new Error('cut')
        return reply
      }
      const subscription = { price: '$0.01', period: '1d', calls: 3 }
      const { ask, agent, door } = await bridged(lost, gated({ price: undefined, subscription }))
      door.open()
      await ask()
      expect(await ask()).toMatchObject({ isError: true })
      expect(await ask()).toMatchObject({ structuredContent: { done: true } })
      expect(agent.ended.map(({ final }) => final)).toEqual(['quoted', 'settled', 'served', 'replayed'])
    })

    it('before its payment was sent pays nothing, and keeps nothing', async () => {
      const { ask, moved, door } = await bridged()
      door.open()
      const cancelled = await ask(AbortSignal.abort())
      expect(cancelled).toMatchObject({ isError: true, structuredContent: { error: { code: 'aborted' } } })
      expect(moved()).toEqual(NOTHING)
      expect(await ask()).toMatchObject({ structuredContent: { done: true } })
    })

    it('asks with the same key for an answer that was lost', async () => {
      let paid = 0
      const { ask, moved, door } = await bridged(async (url, init) => {
        if (++paid === 2) return new Response('', { status: 409 })
        const reply = await fetch(url, init)
        if (paid > 1) return reply
        throw new Error('cut')
      })
      door.open()
      expect(await ask()).toMatchObject({ isError: true })
      // The refusal of the second payment is not the end of the first.
      expect(await ask()).toMatchObject({ isError: true })
      expect(await ask(call.signal, { other: 1 })).toMatchObject({ structuredContent: { done: true } })
      expect(moved()).toMatchObject({ paid: 20_000n })
      expect(await ask()).toMatchObject({ structuredContent: { done: true } })
      expect(moved()).toMatchObject({ paid: 20_000n })
    })
  })

  it('reads the agent’s prices again only where a call costs more than its tool says, for as long as the caller waits', async () => {
    const reads: unknown[] = []
    const entry = { name: 'dear', url: 'https://a.example/dear', method: 'POST', price: '$0.05' }
    let amount = '40000'
    const client = {
      async discover(_: URL, options: unknown) {
        reads.push(options)
        return { endpoints: [entry] }
      },
      async call() {
        throw new SvcError('The call is too dear', 'price_above_max', 402, { amount })
      },
    } as unknown as SvcClient
    const toolbox = await bridgeTo('https://a.example', client)
    await toolbox.call({ ...call, name: 'dear', args: {} })
    expect(reads).toHaveLength(1)
    amount = '50001'
    await toolbox.call({ ...call, name: 'dear', args: {} })
    expect(reads.slice(1)).toEqual([{ signal: call.signal }])
  })

  it('hands no result over that is nested too deep to be written again', async () => {
    const deep = `{"result":{"content":[],"deep":${'['.repeat(20_000) + ']'.repeat(20_000)}}}`
    const agent = createServer((_, res) => res.end(deep)).listen(0, '127.0.0.1')
    await once(agent, 'listening')
    const client = { discover: async () => ({ endpoints: [] }) } as unknown as SvcClient
    const toolbox = await bridgeTo(`http://127.0.0.1:${(agent.address() as AddressInfo).port}`, client)
    const result = await toolbox.call({ ...call, name: 'search_agents', args: {} })
    agent.closeAllConnections()
    agent.close()
    expect(result).toMatchObject({ isError: true, structuredContent: { error: { code: 'call_failed' } } })
  })

  it('offers no tool that sells a balance: its key would be lost', async () => {
    const about = { balance: { amounts: ['$0.05'], period: '1h' } }
    const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => 'done' })
    const { url, sandbox } = await open([work], { about })
    const { algodUrl } = sandbox
    const bridge = await bridgeTo(url, new SvcClient({ network: 'testnet', algodUrl }))
    expect(bridge.tools.map(({ name }) => name)).toEqual(['work', 'get_manifest', 'search_agents'])
  })

  it('offers no tool under a name that is none, or under a free tool’s, and says what price is no promise', async () => {
    const entry = { url: 'https://a.example/x', method: 'POST', price: 'from $0' }
    const names = ['fine', 'no name', 'get/manifest', 'x'.repeat(129), '']
    const hinted = { name: 'hinted', price: '$0.01', pricing: 'dynamic' }
    const manifest = { name: 'A', handle: 'a-a', network: 'testnet', payTo: 'A' }
    const fetchImpl = async () =>
      Response.json({
        ...manifest,
        endpoints: [...names.map(name => ({ ...entry, name })), { ...entry, ...hinted }],
      })
    const { tools } = await bridgeTo('https://a.example', new SvcClient({ fetchImpl }))
    expect(tools.map(({ name }) => name)).toEqual(['fine', 'hinted', 'get_manifest', 'search_agents'])
    expect(tools[0]?.description).toMatch(/^Costs from \$0 in USDC.*\nEach call may cost a different amount/)
    expect(tools[1]?.description).toMatch(/^Costs \$0\.01 in USDC.*\nEach call may cost a different amount/)
  })
})

describe('an answer that is owed', () => {
  const lost = new SvcError('lost', 'network_error', undefined, { charged: 'yes', idempotencyKey: 'K' })

  /** Calls of one name, each answered by the test, with the keys that they sent. */
  function asking() {
    const keys: (string | undefined)[] = []
    const made: { resolve(answer: string): void; reject(cause: Error): void }[] = []
    let nowMs = 0
    const owed = owedAnswers<string>({ monotonic: () => nowMs })
    const ask = (signal = new AbortController().signal) =>
      owed('work', signal, key => {
        keys.push(key)
        return new Promise<string>((resolve, reject) => made.push({ resolve, reject }))
      })
    const cancelled = () => {
      const cancel = new AbortController()
      const asked = ask(cancel.signal)
      cancel.abort()
      return asked
    }
    const pass = (ms: number) => {
      nowMs += ms
    }
    return { ask, cancelled, keys, made, pass }
  }

  it('and was lost to two who shared it leaves its key once', async () => {
    const { ask, cancelled, keys, made } = asking()
    const both = [cancelled(), ask()]
    made[0]!.reject(lost)
    await Promise.allSettled(both)
    for (const again of [1, 2]) {
      const asked = ask()
      made[again]!.resolve('done')
      await asked
    }
    expect(keys).toEqual([undefined, 'K', undefined])
  })

  it('is kept while its call runs, and for ten minutes after that', async () => {
    for (const [afterMs, answers] of [
      [599_999, ['slow', 1]],
      [600_000, ['new', 2]],
    ] as const) {
      const { ask, cancelled, made, pass } = asking()
      const first = cancelled()
      pass(3_600_000)
      made[0]!.resolve('slow')
      await first
      pass(afterMs)
      const asked = ask()
      made[1]?.resolve('new')
      expect([await asked, made.length]).toEqual(answers)
    }
  })

  it('stays owed where who asks again has cancelled already', async () => {
    const { ask, cancelled, made } = asking()
    const asked = [cancelled(), ask(AbortSignal.abort()), ask()]
    made[0]!.resolve('slow')
    made[1]?.resolve('new')
    expect(await Promise.all(asked)).toEqual(['slow', 'slow', 'slow'])
    expect(made).toHaveLength(1)
  })
})
