/** Sockets that go away while their requests wait: in a pipe, in a handler, behind a body. What they held is free again. */

import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { algodClient } from '../../src/adapters/algorand/algod-and-indexer.js'
import { algorandPaymentSigner } from '../../src/adapters/algorand/sign-payment-group.js'
import { signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { TESTNET } from '../../src/domain/network.js'
import { createServer as createApp, defineAgent, defineEndpoint } from '../../src/index.js'
import { closing } from '../support/closing.js'
import { gated } from '../support/gate.js'
import { parsePrometheus } from '../support/prometheus-text.js'
import {
  ask,
  challengeIn,
  open,
  type PaymentHeader,
  presenting,
  receiptIn,
  type Seller,
  signFor,
} from '../support/seller.js'

const PRICE = 10_000n

const warnings: Error[] = []
const onWarning = (warning: Error) => warnings.push(warning)
beforeEach(() => {
  warnings.length = 0
  process.on('warning', onWarning)
})
afterEach(() => {
  process.off('warning', onWarning)
  expect(warnings, 'Node warned of nothing').toEqual([])
})

const fast = defineEndpoint({ name: 'fast', price: '$0.01', handler: () => ({ done: true }) })

function post(path: string, headers: Readonly<Record<string, string>>, body = '{}'): string {
  const all = { Host: 'agent.test', ...headers, 'Content-Length': String(Buffer.byteLength(body)) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

async function pipe(url: string, requests: readonly string[]): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(requests.join(''))
  return socket
}

async function inFlight(url: string): Promise<number> {
  const families = parsePrometheus(await (await fetch(`${url}/metrics`)).text())
  return families.get('svc_requests_in_flight')!.samples[0]!.value
}

const isIdle = (url: string) => expect.poll(() => inFlight(url)).toBe(0)

/** Each payer signs few of them: none looks like one who never pays. */
const PAYMENTS_EACH = 8

/** As `signFor`, many of one quote. */
async function signMany({ sandbox }: Seller, url: string, count: number): Promise<PaymentHeader[]> {
  const challenge = challengeIn(await ask(url, { body: {} }))
  const algod = closing(algodClient({ url: sandbox.algodUrl, nodeTimeoutMs: 20_000 }))
  const signers = Array.from({ length: Math.ceil(count / PAYMENTS_EACH) }, (_, at) => {
    const key = signingKey(sandbox.accounts(`payer ${at}`).mnemonic)
    return algorandPaymentSigner({ key, network: TESTNET, algod })
  })
  return Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const { payload } = await signers[at % signers.length]!.sign(challenge, challenge.accepts[0]!)
      return presenting(payload)
    }),
  )
}

/** How the calls ended that a payment was presented to. */
const finalsOf = ({ ended }: Seller) => ended.map(({ final }) => final).filter(final => final !== 'quoted')

const charged = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc

describe('pipelined paid calls', () => {
  it('200 of them in slow handlers end with their socket: nothing is charged, held or left', async () => {
    const { endpoint, entered } = gated()
    // A busy machine takes its time to verify so many at once.
    const advanced = { timeouts: { verifyMs: 60_000 } }
    const seller = await open([endpoint], { idempotency: {}, shutdownTimeoutMs: 5_000, advanced })
    const url = `${seller.url}/slow`
    const payments = await signMany(seller, url, 200)
    const requests = payments.map((payment, at) =>
      post('/slow', { ...payment, 'Idempotency-Key': `a-random-key-of-32-characters-own-${at}` }),
    )
    const socket = await pipe(seller.url, requests)
    await entered(200)
    expect(await inFlight(seller.url)).toBe(200)
    socket.destroy()
    await isIdle(seller.url)
    expect(finalsOf(seller)).toEqual(Array(200).fill('abandoned'))
    expect(charged(seller)).toBe(0n)
    const report = await seller.server.shutdown('test')
    expect(report).toMatchObject({ outcome: 'drained', abandoned: 0 })
  })

  it('leaves neither key nor payment locked: both can be used at once', async () => {
    const { endpoint, entered, open: letGo } = gated()
    const seller = await open([endpoint], { idempotency: {} })
    const url = `${seller.url}/slow`
    const payments = await signMany(seller, url, 3)
    const keyed = payments.map((payment, at) => ({
      ...payment,
      'Idempotency-Key': `a-random-key-of-32-characters-own-${at}`,
    }))
    const socket = await pipe(
      seller.url,
      keyed.map(headers => post('/slow', headers)),
    )
    await entered(3)
    socket.destroy()
    await isIdle(seller.url)
    letGo()
    const retried = await Promise.all(keyed.map(headers => ask(url, { body: {}, headers })))
    expect(retried.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(charged(seller)).toBe(3n * PRICE)
  })

  for (const onLostResponse of ['release', 'replay'] as const) {
    it(`answers that wait in the pipe are lost with it: ${onLostResponse}`, async () => {
      const { endpoint, entered } = gated()
      const seller = await open([endpoint, fast], {
        idempotency: { onLostResponse },
        shutdownTimeoutMs: 5_000,
      })
      const [first, ...rest] = await signMany(seller, `${seller.url}/slow`, 5)
      const keyed = rest.map((payment, at) => ({
        ...payment,
        'Idempotency-Key': `a-random-key-of-32-characters-own-${at}`,
      }))
      const socket = await pipe(seller.url, [
        post('/slow', first!),
        ...keyed.map(headers => post('/fast', headers)),
      ])
      await entered()
      await expect.poll(() => finalsOf(seller).length).toBe(4)
      expect(charged(seller)).toBe(4n * PRICE)
      // Their answers wait behind the slow one: whether they arrive decides about their keys.
      expect(await inFlight(seller.url)).toBe(onLostResponse === 'release' ? 5 : 1)
      socket.destroy()
      await isIdle(seller.url)
      const again = await ask(`${seller.url}/fast`, { body: {}, headers: keyed[0] })
      // The key is free again, and the answer is its payment's.
      expect(again.headers.get('idempotency-replayed')).toBe('true')
      expect(receiptIn(again).success).toBe(true)
      const other = await ask(`${seller.url}/fast`, { body: { other: 1 }, headers: keyed[0] })
      const { error } = (await other.json()) as { error: { code: string } }
      expect(error.code).toBe(onLostResponse === 'replay' ? 'idempotency_key_reuse' : 'payment_spent')
      expect(charged(seller)).toBe(4n * PRICE)
      expect((await seller.server.shutdown('test')).outcome).toBe('drained')
    })
  }

  it('all get their answers, in order, where the socket stays', async () => {
    const seller = await open([fast], { idempotency: {} })
    const payments = await signMany(seller, `${seller.url}/fast`, 30)
    const requests = payments.map((payment, at) =>
      post('/fast', {
        ...payment,
        'Idempotency-Key': `a-random-key-of-32-characters-own-${at}`,
        ...(at === 29 && { Connection: 'close' }),
      }),
    )
    const socket = await pipe(seller.url, requests)
    let text = ''
    for await (const chunk of socket) text += chunk
    expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(30)
    expect(charged(seller)).toBe(30n * PRICE)
    await isIdle(seller.url)
    const replayed = await ask(`${seller.url}/fast`, {
      body: {},
      headers: { ...payments[29]!, 'Idempotency-Key': 'a-random-key-of-32-characters-own-29' },
    })
    expect(replayed.headers.get('idempotency-replayed')).toBe('true')
  })

  it('end with their socket behind the doors for agents, too', async () => {
    const { endpoint, entered } = gated()
    const seller = await open([endpoint], { shutdownTimeoutMs: 5_000 })
    const payments = await signMany(seller, `${seller.url}/slow`, 4)
    const message = { role: 'user', parts: [{ kind: 'data', data: {} }], metadata: { skillId: 'slow' } }
    const a2a = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } })
    const mcp = (header: string) => {
      const _meta = { 'x402/payment': JSON.parse(Buffer.from(header, 'base64').toString()) }
      const params = { name: 'slow', arguments: {}, _meta }
      return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    }
    const json = { 'Content-Type': 'application/json' }
    const socket = await pipe(seller.url, [
      ...payments.slice(0, 2).map(payment => post('/a2a', { ...json, ...payment }, a2a)),
      ...payments.slice(2).map(payment => post('/mcp', json, mcp(payment['payment-signature']))),
    ])
    await entered(4)
    socket.destroy()
    await isIdle(seller.url)
    expect(finalsOf(seller)).toEqual(Array(4).fill('abandoned'))
    expect(charged(seller)).toBe(0n)
  })

  it('end with their socket in an app that is mounted in another server, even where it died before they came', async () => {
    const { endpoint, entered } = gated()
    const seller = await open([endpoint])
    const { sandbox } = seller
    const agent = defineAgent({
      name: 'Mounted',
      handle: 'mounted',
      description: 'Behind something slow.',
      payTo: sandbox.seller.address,
      network: 'testnet',
      endpoints: [endpoint],
    })
    const app = createApp(agent, {
      facilitatorUrl: sandbox.facilitatorUrl,
      algodUrl: sandbox.algodUrl,
      idempotency: {},
    }).callback()
    let arrived = 0
    let ended: Promise<unknown> = Promise.resolve()
    const outer: Server = createServer((req, res) => {
      arrived++
      // The last one is let through only once its socket is gone.
      if (arrived < 3 || req.method === 'GET') app(req, res)
      else ended = once(req.socket, 'close').then(() => app(req, res))
    })
    closing({
      close: () => {
        outer.closeAllConnections()
        outer.close()
      },
    })
    outer.listen(0, '127.0.0.1')
    await once(outer, 'listening')
    const url = `http://127.0.0.1:${(outer.address() as AddressInfo).port}`
    const payments = await signMany(seller, `${seller.url}/slow`, 3)
    const socket = await pipe(
      url,
      payments.map((payment, at) =>
        post('/slow', { ...payment, 'Idempotency-Key': `a-random-key-of-32-characters-own-${at}` }),
      ),
    )
    await entered(2)
    await expect.poll(() => arrived).toBe(3)
    socket.destroy()
    await ended
    await isIdle(url)
    expect(charged(seller)).toBe(0n)
  })
})

describe('a caller who is gone is noticed', () => {
  it('by a half-closed socket, also behind another call', async () => {
    const { endpoint, entered } = gated()
    const seller = await open([endpoint])
    const payments = await signMany(seller, `${seller.url}/slow`, 2)
    const socket = await pipe(
      seller.url,
      payments.map(payment => post('/slow', payment)),
    )
    await entered(2)
    socket.end()
    await isIdle(seller.url)
    expect(finalsOf(seller)).toEqual(['abandoned', 'abandoned'])
    expect(charged(seller)).toBe(0n)
  })

  const body = 'x'.repeat(300_000)
  const unread = {
    'a body that no route reads': post('/nowhere', {}, body),
    'a body that is refused for its encoding': post('/slow', { 'Content-Encoding': 'gzip' }, body),
    'a body that is too large': post('/slow', {}, 'x'.repeat(2_000_000)),
    'a body of a free route': post('/health', {}, body).replace('POST', 'GET'),
    'a body of a method that is not answered': post('/slow', {}, body).replace('POST', 'PUT'),
    'a body that never ends': `POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n${body}`,
  }
  for (const [name, request] of Object.entries(unread)) {
    it(`though ${name} waits behind the call`, async () => {
      const { endpoint, entered } = gated()
      const seller = await open([endpoint])
      const [payment] = await signMany(seller, `${seller.url}/slow`, 1)
      const socket = await pipe(seller.url, [post('/slow', payment!)])
      await entered()
      await new Promise<void>(resolve => socket.write(request, () => resolve()))
      socket.destroy()
      await isIdle(seller.url)
      expect(finalsOf(seller)).toContain('abandoned')
      expect(charged(seller)).toBe(0n)
    })
  }

  it('though the call is a GET with a body that nobody reads', async () => {
    const { endpoint, entered } = gated({ method: 'GET' })
    const seller = await open([endpoint])
    const payment = await signFor(seller, `${seller.url}/slow`, { method: 'GET' })
    const socket = await pipe(seller.url, [post('/slow', payment, body).replace('POST', 'GET')])
    await entered()
    socket.destroy()
    await isIdle(seller.url)
    expect(finalsOf(seller)).toEqual(['abandoned'])
    expect(charged(seller)).toBe(0n)
  })
})
