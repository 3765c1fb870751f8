/** Servers in Python and Go that know nothing of payments, sold by `svc sell`'s own server, and paid by our client and the official one. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SvcClient } from '../../src/client.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { type Sold, sell } from '../../src/sell.js'
import { NOTHING, officialClient, onePayment, SHORT_ID, watchLedger } from '../../test/support/official.js'
import { startPeer } from './python-peer.js'

interface Peer {
  readonly url: string
  close(): Promise<void>
}

const GO = process.env.SVC_GO ?? 'go'
const hasGo = spawnSync(GO, ['version']).status === 0

async function goPeer(): Promise<Peer> {
  const source = fileURLToPath(new URL('go/upstream.go', import.meta.url))
  const child = spawn(GO, ['run', source], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return {
    ...JSON.parse(line),
    async close() {
      child.stdin.end()
      await once(child, 'close')
    },
  }
}

const SERVERS: Readonly<Record<string, () => Promise<Peer>>> = {
  'FastAPI on uvicorn': () => startPeer<{ url: string }>('current', 'upstream.py', {}),
  ...(hasGo && { 'Go’s net/http': goPeer }),
}

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

type Pay = typeof fetch

/** Each with an account of its own, and what moved on the ledger since. */
function buyers(name: string): Record<string, { pay: Pay; moved: ReturnType<typeof watchLedger> }> {
  const [ours, official] = [sandbox.accounts(`${name} ours`), sandbox.accounts(`${name} official`)]
  const caps = { maxPrice: '$0.05', maxPerDay: '$1' } as const
  const { mnemonic } = ours
  const client = new SvcClient({ mnemonic, network: 'testnet', algodUrl: sandbox.algodUrl, ...caps })
  return {
    ours: { pay: client.fetch, moved: watchLedger(sandbox, ours.address) },
    '@x402/fetch': {
      pay: officialClient(sandbox, official, SHORT_ID).pay,
      moved: watchLedger(sandbox, official.address),
    },
  }
}

describe.each(Object.keys(SERVERS))('%s', name => {
  let upstream: Peer
  let server: Sold
  let url: string
  beforeAll(async () => {
    upstream = await SERVERS[name]!()
    server = sell(
      {
        name: 'Sold',
        handle: 'sold',
        description: 'Sold.',
        payTo: sandbox.seller.address,
        network: 'testnet',
        upstream: upstream.url,
        routes: [
          { route: 'POST /v1/*', price: '$0.01' },
          { route: 'GET /reports/:id', price: '$0.05' },
          { route: 'GET /health', free: true },
        ],
      },
      {
        port: 0,
        host: '127.0.0.1',
        facilitatorUrl: sandbox.facilitatorUrl,
        algodUrl: sandbox.algodUrl,
        idempotency: { onLostResponse: 'replay' },
        handleSignals: false,
        onReady() {},
        onShutdown() {},
      },
    )
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }, 180_000)
  afterAll(async () => {
    server.closeAllConnections()
    await server.shutdown('test over')
    await upstream.close()
  })

  const only = (language: string): typeof it => (name.startsWith(language) ? it : ((() => {}) as never))
  const [ofPython, ofGo] = [only('FastAPI'), only('Go')]
  const post = (body: unknown) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const txIdOf = (answer: Response) =>
    JSON.parse(Buffer.from(answer.headers.get('payment-response')!, 'base64').toString()).transaction

  describe.each(['ours', '@x402/fetch'])('paid by %s', whose => {
    const buying = (what: string) => buyers(`${name} ${what}`)[whose]!

    it('a report by its path', async () => {
      const { pay, moved } = buying('report')
      const answer = await pay(`${url}/reports/caf%C3%A9?b=2&a=%31`)
      expect(answer.status).toBe(200)
      const told = await answer.json()
      expect(told).toMatchObject({
        report: 'café',
        query: 'b=2&a=%31',
        payer: expect.stringMatching(/^[A-Z2-7]{58}$/),
      })
      expect(moved()).toEqual(onePayment(50_000n, txIdOf(answer)))
    })

    it('a failure costs nothing, and its body passes', async () => {
      const { pay, moved } = buying('failure')
      const answer = await pay(`${url}/v1/broken`, post({}))
      expect([answer.status, await answer.text()]).toEqual([500, expect.stringContaining('no model today')])
      expect(moved()).toEqual(NOTHING)
    })

    ofPython('OpenAI’s client, whole and streamed', async () => {
      const { pay, moved } = buying('openai')
      const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', fetch: pay, maxRetries: 0 })
      const asked = { model: 'small', messages: [{ role: 'user' as const, content: 'Tell me of whales.' }] }
      const whole = await openai.chat.completions.create(asked)
      expect(whole.choices[0]!.message.content).toBe('Whales are large.')
      let text = ''
      for await (const { choices } of await openai.chat.completions.create({ ...asked, stream: true }))
        text += choices[0]?.delta.content ?? ''
      expect(text).toBe('Whales are large.')
      expect(moved()).toMatchObject({ paid: 20_000n })
    })

    ofPython('what the server refuses costs nothing', async () => {
      const { pay, moved } = buying('refusal')
      const answer = await pay(`${url}/v1/chat/completions`, post({ model: 'small' }))
      expect([answer.status, await answer.json()]).toMatchObject([
        422,
        { detail: [{ loc: ['body', 'messages'] }] },
      ])
      expect(moved()).toEqual(NOTHING)
    })

    ofGo('chunks without a length, and events', async () => {
      const { pay, moved } = buying('chunks')
      const long = await pay(`${url}/v1/long`, { method: 'POST', body: 'long ' })
      expect(await long.text()).toBe('long '.repeat(10_000))
      const events = await pay(`${url}/v1/events`, { method: 'POST' })
      expect(await events.text()).toBe('data: one\n\ndata: two\n\ndata: three\n\n')
      expect(moved()).toMatchObject({ paid: 20_000n })
    })

    ofGo('an answer that is broken off costs nothing', async () => {
      const { pay, moved } = buying('broken off')
      const answer = await pay(`${url}/v1/panic`, { method: 'POST' })
      expect([answer.status, await answer.json()]).toMatchObject([
        502,
        { error: { code: 'upstream_broken' } },
      ])
      expect(moved()).toEqual(NOTHING)
    })
  })

  it('what is free, and what has no price', async () => {
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ ok: true })
    expect((await fetch(`${url}/docs`)).status).toBe(404)
  })
})
