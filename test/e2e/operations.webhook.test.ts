/** Settlement webhooks, to a receiver over real sockets that verifies them with the Standard Webhooks library. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { settlementWebhook } from '../../src/audit/webhook/settlement-webhook.js'
import { defineAgent, defineEndpoint, type EndedCall, serve } from '../../src/index.js'
import { silentLogger } from '../../src/ports/logger.js'
import { closing } from '../support/closing.js'
import { ask, open, pay, receiptIn } from '../support/seller.js'

const SELLER = { agent: 'test-agent', network: 'testnet' } as const
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

interface Received {
  readonly headers: Record<string, string>
  readonly body: string
}
type Reply = (response: ServerResponse, request: IncomingMessage) => void
const answer =
  (status: number, headers = {}): Reply =>
  response =>
    void response.writeHead(status, headers).end('noted')
const hang: Reply = () => {}

/** Answers each request with the next reply, and those after the last with the last. */
async function receiver(...replies: Reply[]) {
  const received: Received[] = []
  const waiting = new Set<() => void>()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    received.push({ headers: request.headers as Record<string, string>, body })
    const reply = replies[Math.min(received.length, replies.length) - 1] ?? answer(204)
    reply(response, request)
    for (const check of waiting) check()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing({
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?token=1`,
    received,
    times: (count: number) =>
      new Promise<void>(resolve => {
        const check = () => {
          if (received.length >= count) resolve()
        }
        waiting.add(check)
        check()
      }),
  }
}

function verified({ headers, body }: Received, secret = SECRET): unknown {
  return new Webhook(secret).verify(body, headers)
}

const verifiedBy = (received: Received) => verified(received)

const settled = (id: string): EndedCall => ({
  id,
  traceId: 't',
  endpoint: 'echo',
  final: 'settled',
  path: [],
  timingsMs: [],
  status: 200,
  code: 'settled',
  charged: 'yes',
  startedMs: Date.UTC(2026, 0, 1),
  ms: 5,
  txId: `TX${id}`,
  payer: 'PAYER',
  amount: '10000',
  asset: '10458941',
})

function sender(url: string, limits: Parameters<typeof settlementWebhook>[3] = {}) {
  const errors: Record<string, unknown>[] = []
  const silent = () => {}
  const error = (fields: object) => void errors.push(fields as Record<string, unknown>)
  const logger = { debug: silent, info: silent, warn: silent, error }
  const webhook = settlementWebhook({ url, secret: SECRET }, SELLER, logger, { retryMs: 1, ...limits })
  closing({ close: () => webhook.close(0) })
  return { webhook, errors }
}

describe('a server with webhooks', () => {
  const echo = defineEndpoint({ name: 'echo', price: '$0.01', handler: ({ body }) => body })
  const fail = defineEndpoint({
    name: 'fail',
    price: '$0.01',
    handler: () => Promise.reject(new Error('no')),
  })

  it('tells each receiver of each settled call, and of no other', async () => {
    const [one, two] = [await receiver(), await receiver()]
    const other = `whsec_${Buffer.alloc(24, 9).toString('base64')}`
    const webhooks = [
      { url: one.url, secret: SECRET },
      { url: two.url, secret: other },
    ]
    const seller = await open([echo, fail], { webhooks })
    await ask(`${seller.url}/echo`)
    await pay(seller, `${seller.url}/fail`)
    const paid = await pay(seller, `${seller.url}/echo`, { body: { secret: 'in the body' } })
    await Promise.all([one.times(1), two.times(1)])
    const { id: run } = seller.ended.at(-1)!
    const { txId } = receiptIn(paid)
    const message = {
      type: 'call.settled',
      id: txId,
      run,
      agent: expect.stringMatching(/^[a-z-]+$/),
      network: 'testnet',
      usd: '0.01',
      endpoint: 'echo',
      txId,
      amount: '10000',
      asset: '10458941',
      payer: seller.sandbox.wallet.address,
      at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T.*Z$/),
    }
    expect(verified(one.received[0]!)).toEqual(message)
    expect(verified(two.received[0]!, other)).toEqual(message)
    expect(one.received[0]!.headers).toMatchObject({ 'webhook-id': txId, 'content-type': 'application/json' })
    expect(() => verified(one.received[0]!, other)).toThrow()
    await seller.server.shutdown()
    expect([one.received.length, two.received.length]).toEqual([1, 1])
  })

  it('answers at once while a receiver hangs, and tells what waits before it ends', async () => {
    let letGo = () => {}
    const held: Reply = response => {
      letGo = () => void response.writeHead(200).end()
    }
    const slow = await receiver(held)
    const seller = await open([echo], { webhooks: [{ url: slow.url, secret: SECRET }] })
    expect((await pay(seller, `${seller.url}/echo`, { body: {} })).status).toBe(200)
    await slow.times(1)
    let ended = false
    const closing = seller.server.shutdown().then(() => {
      ended = true
    })
    await once(seller.server, 'close')
    expect(ended).toBe(false)
    letGo()
    await closing
  })

  it.each([
    [{ secret: 'short' }],
    [{ secret: `whsec_${Buffer.alloc(23).toString('base64')}` }],
    [{ secret: `whsec_${Buffer.alloc(65).toString('base64')}` }],
    [{ secret: undefined }],
    [{ url: 'ftp://receiver.example' }],
    [{ url: '/hook' }],
    [{ url: 'https://user:password@receiver.example' }],
  ])('is refused at start, and quotes no secret: %j', wrong => {
    const agent = defineAgent({
      name: 'a',
      handle: 'abc',
      description: 'd',
      payTo: 'A'.repeat(58),
      endpoints: [echo],
    })
    const webhook = { url: 'https://receiver.example', secret: SECRET, ...wrong } as never
    expect(() => serve(agent, { port: 0, webhooks: [webhook], logger: silentLogger })).toThrow(
      expect.objectContaining({
        code: 'invalid_options',
        message: expect.not.stringMatching(/password|short/),
      }),
    )
  })
})

describe('a payment that a later call found landed', () => {
  const found: EndedCall = {
    ...settled('found'),
    final: 'replayed',
    path: ['received.admitted', 'opening.orphaned', 'recovering.found'],
    code: 'replayed',
    charged: 'earlier',
    txId: 'TX1',
  }
  const settling = settled('1')
  const later: EndedCall = { ...found, id: 'later', path: ['received.admitted', 'opening.replayable'] }

  it.each([
    ['alone', [found, later], 'found'],
    ['before its own call, which was slow, has settled', [found, settling, later], 'found'],
    ['after its own call has settled', [settling, found, later], '1'],
  ])('is told once: %s', async (_, calls, run) => {
    const one = await receiver()
    const { webhook } = sender(one.url)
    for (const call of calls) webhook.ended(call)
    await webhook.close(10_000)
    expect(one.received.map(verifiedBy)).toMatchObject([{ id: 'TX1', txId: 'TX1', run, amount: '10000' }])
  })

  it('has the same id in every process, so that a receiver can drop what it has seen', async () => {
    const one = await receiver()
    for (const call of [settling, found]) {
      const { webhook } = sender(one.url)
      webhook.ended(call)
      await webhook.close(10_000)
    }
    expect(one.received.map(({ headers }) => headers['webhook-id'])).toEqual(['TX1', 'TX1'])
  })
})

describe('a message', () => {
  it('is sent again after failures, as the same message, signed anew', async () => {
    const reset: Reply = (_, request) => request.socket.resetAndDestroy()
    const flaky = await receiver(answer(500), reset, answer(302, { location: '/elsewhere' }), answer(200))
    const { webhook, errors } = sender(flaky.url)
    webhook.ended(settled('1'))
    await webhook.close(10_000)
    expect(flaky.received).toHaveLength(4)
    expect(new Set(flaky.received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set(['TX1']))
    for (const attempt of flaky.received) expect(verified(attempt)).toMatchObject({ txId: 'TX1' })
    expect(errors).toEqual([])
  })

  it('is given up after so many attempts, and logged', async () => {
    const broken = await receiver(answer(410))
    const { webhook, errors } = sender(broken.url, { attemptsMax: 3 })
    webhook.ended(settled('1'))
    await webhook.close(10_000)
    expect(broken.received).toHaveLength(3)
    expect(errors).toMatchObject([{ id: '1', txId: 'TX1', host: new URL(broken.url).host }])
    expect(JSON.stringify(errors)).not.toMatch(/token/)
  })

  it('has a bounded time for each attempt', async () => {
    const slow = await receiver(hang, answer(200))
    const { webhook, errors } = sender(slow.url, { timeoutMs: 2_000 })
    webhook.ended(settled('1'))
    await webhook.close(10_000)
    expect(slow.received).toHaveLength(2)
    expect(errors).toEqual([])
  })

  it('bounds the time of an answer’s body too: eight that never end do not keep a ninth message waiting', async () => {
    const endless: Reply = response => void response.writeHead(200).write('x')
    const slow = await receiver(...Array.from({ length: 8 }, () => endless), answer(200))
    const { webhook, errors } = sender(slow.url, { timeoutMs: 500 })
    for (let id = 1; id <= 9; id++) webhook.ended(settled(String(id)))
    await slow.times(9)
    expect(errors).toEqual([])
  })

  it('does not keep others from being sent while it waits', async () => {
    const one = await receiver(answer(500), answer(200))
    const { webhook } = sender(one.url, { retryMs: 60_000 })
    webhook.ended(settled('1'))
    await one.times(1)
    webhook.ended(settled('2'))
    await one.times(2)
    expect(one.received.map(({ headers }) => headers['webhook-id'])).toEqual(['TX1', 'TX2'])
  })

  it('is dropped, and logged, where too many wait or the server has closed', async () => {
    const slow = await receiver(hang)
    const { webhook, errors } = sender(slow.url, { pendingMax: 2 })
    for (const id of ['1', '2', '3']) webhook.ended(settled(id))
    expect(errors.map(({ id }) => id)).toEqual(['3'])
    await webhook.close(20)
    expect(errors.map(({ id }) => id)).toEqual(['3', '1', '2'])
    webhook.ended(settled('4'))
    expect(errors.map(({ id }) => id)).toEqual(['3', '1', '2', '4'])
  })

  it('goes out for a burst of them, by few connections, each once', async () => {
    const busy = await receiver(answer(204))
    const { webhook, errors } = sender(busy.url)
    const ids = Array.from({ length: 200 }, (_, i) => String(i))
    for (const id of ids) webhook.ended(settled(id))
    await webhook.close(10_000)
    expect(busy.received.map(({ headers }) => headers['webhook-id']).sort()).toEqual(
      ids.map(id => `TX${id}`).sort(),
    )
    expect(errors).toEqual([])
  })
})
