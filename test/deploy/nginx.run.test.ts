/** `deploy/nginx.conf`, run by nginx in front of real sellers: what callers send arrives, and what was paid for comes back. */
import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { defineEndpoint } from '../../src/index.js'
import { childAgent } from '../support/child-agent.js'
import { closing } from '../support/closing.js'
import { gated } from '../support/gate.js'
import { type Nginx, startNginx } from '../support/nginx.js'
import { sendRaw } from '../support/raw-http.js'
import { startRedis } from '../support/redis-server.js'
import {
  ask,
  challengeIn,
  open,
  openSeller,
  presenting,
  receiptIn,
  type Seller,
  signedIn,
  signFor,
} from '../support/seller.js'

const PRICE = 10_000n
const LARGE = randomBytes(8 * 1024 ** 2)
const WORDS = Object.fromEntries(
  Array.from({ length: 300 }, (_, at) => [
    `field${at}`,
    { type: 'string' as const, description: 'd'.repeat(60) },
  ]),
)

const errorOf = async (response: Response) =>
  ((await response.json()) as { error: { code: string; message: string } }).error
const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc ?? 0n

async function inFrontOf(sellers: readonly Seller[], change?: (conf: string) => string): Promise<Nginx> {
  return closing(
    await startNginx(
      sellers.map(({ url }) => url),
      change,
    ),
  )
}

describe('in front of one replica', () => {
  let seller: Seller
  let nginx: Nginx
  let paidBefore: bigint
  beforeAll(async () => {
    seller = await openSeller(
      [
        defineEndpoint({ name: 'echo', price: '$0.01', handler: ({ body }) => ({ body }) }),
        defineEndpoint({
          name: 'described',
          price: '$0.01',
          description: 'é'.repeat(10_000),
          input: { type: 'object', properties: WORDS },
          handler: () => ({ done: true }),
        }),
        defineEndpoint({ name: 'large', price: '$0.01', handler: () => LARGE }),
        defineEndpoint({
          name: 'headed',
          price: '$0.01',
          handler: () => new Response('paid for', { headers: { 'x-long': 'a'.repeat(8_000) } }),
        }),
        defineEndpoint({
          name: 'passed-on',
          price: '$0.01',
          handler: () =>
            new Response('paid for', {
              headers: {
                'x-accel-redirect': '/health',
                'x-accel-limit-rate': '1',
                'x-accel-charset': 'koi8-r',
              },
            }),
        }),
        defineEndpoint({
          name: 'late',
          price: '$0.01',
          timeout: 1_000,
          handler: () => new Promise(() => {}),
        }),
      ],
      { trustProxy: 1, idempotency: {} },
    )
    nginx = await startNginx([seller.url])
    // The first time, it is fetched from Debian's archive, beside whatever else is fetched then.
  }, 180_000)
  afterAll(async () => {
    await nginx.close()
    await seller.close()
  })
  beforeEach(() => {
    paidBefore = received(seller)
  })
  const charged = () => received(seller) - paidBefore
  const pay = async (path: string, body: unknown = {}, headers: Record<string, string> = {}) => {
    const payment = await signFor(seller, `${nginx.url}/${path}`, { body })
    return ask(`${nginx.url}/${path}`, { body, headers: { ...payment, ...headers } })
  }

  it('the largest quote arrives, names the URL that its caller used, and can be paid', async () => {
    const quoted = await ask(`${nginx.url}/described`, { body: {} })
    expect(quoted.status).toBe(402)
    expect(challengeIn(quoted).resource).toMatchObject({ url: `${nginx.url}/described` })
    expect((await pay('described')).status).toBe(200)
    expect(charged()).toBe(PRICE)
  })

  it('a payment of 15 KiB arrives, and one of more than 16 is refused as headers are', async () => {
    const signed = signedIn(await signFor(seller, `${nginx.url}/echo`, { body: {} }))
    const padded = (bytes: number) => presenting({ ...signed, padding: 'p'.repeat(bytes * 0.75) })
    const refused = await ask(`${nginx.url}/echo`, { body: {}, headers: padded(16 * 1024) })
    expect([refused.status, (await errorOf(refused)).code]).toEqual([431, 'headers_too_large'])
    const length = padded(0)['payment-signature'].length
    const headers = padded(15 * 1024 - length)
    expect(headers['payment-signature'].length).toBeGreaterThan(14 * 1024)
    expect((await ask(`${nginx.url}/echo`, { body: {}, headers })).status).toBe(200)
    expect(charged()).toBe(PRICE)
  })

  it('a payment and a query are read though the host comes after them', async () => {
    const payment = signedIn(await signFor(seller, `${nginx.url}/echo`, { body: {} }))
    const header = presenting({ ...payment, padding: 'p'.repeat(6 * 1024) })['payment-signature']
    const lines = [
      `POST /echo?q=${'q'.repeat(3_000)} HTTP/1.1`,
      `Payment-Signature: ${header}`,
      `Host: 127.0.0.1:${nginx.port}`,
      'Content-Type: application/json',
      'Content-Length: 2',
      'Connection: close',
    ]
    const answer = await sendRaw(nginx.url, `${lines.join('\r\n')}\r\n\r\n{}`)
    expect(answer.status).toBe(200)
    expect(charged()).toBe(PRICE)
  })

  it.each(['first', 'last'])(
    'headers that are too large are said to be, where the host comes %s',
    async where => {
      const host = `Host: 127.0.0.1:${nginx.port}`
      const long = `X-Long: ${'a'.repeat(20_000)}`
      const lines = where === 'first' ? [host, long] : [long, host]
      const answer = await sendRaw(
        nginx.url,
        `GET /health HTTP/1.1\r\n${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`,
      )
      expect([answer.status, JSON.parse(answer.body).error.code]).toEqual([431, 'headers_too_large'])
    },
  )

  it('a query that is too long is said to be', async () => {
    const answer = await ask(`${nginx.url}/echo?q=${'a'.repeat(20_000)}`, { method: 'GET' })
    expect(answer.status).toBe(414)
  })

  it('an answer of 8 MiB comes back whole, and one with as many headers as a handler may give', async () => {
    const large = await pay('large')
    const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
    expect(hash(new Uint8Array(await large.arrayBuffer()))).toBe(hash(LARGE))
    const headed = await pay('headed')
    expect([headed.status, await headed.text(), headed.headers.get('x-long')?.length]).toEqual([
      200,
      'paid for',
      8_000,
    ])
    expect(charged()).toBe(2n * PRICE)
  })

  it('an answer that was passed on from elsewhere gives nginx no orders', async () => {
    const answer = await pay('passed-on')
    expect([answer.status, await answer.text()]).toEqual([200, 'paid for'])
    expect(receiptIn(answer).success).toBe(true)
    expect(charged()).toBe(PRICE)
  })

  it('a status of the agent’s own is not taken for one of nginx’s', async () => {
    const late = await pay('late')
    expect([late.status, (await errorOf(late)).code]).toEqual([504, 'handler_timeout'])
    expect(charged()).toBe(0n)
  })

  it('the largest body that the agent reads arrives, and a larger one is 413 in JSON, and not charged', async () => {
    const payment = await signFor(seller, `${nginx.url}/echo`, { body: {} })
    const send = (bytes: number) =>
      ask(`${nginx.url}/echo`, { body: JSON.stringify('b'.repeat(bytes - 2)), headers: payment })
    for (const bytes of [1024 ** 2 + 1, 1.5 * 1024 ** 2, 10 * 1024 ** 2]) {
      const refused = await send(bytes)
      expect([refused.status, (await errorOf(refused)).code]).toEqual([413, 'body_too_large'])
    }
    expect(charged()).toBe(0n)
    expect((await send(1024 ** 2)).status).toBe(200)
    expect(charged()).toBe(PRICE)
  })

  it('forged headers change neither the quote’s URL nor who is calling', async () => {
    const forged = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'javascript',
      'x-forwarded-for': '203.0.113.9',
      'x-forwarded-port': '1',
      'x-real-ip': '203.0.113.9',
      forwarded: 'for=203.0.113.9;host=evil.example;proto=gopher',
      x_forwarded_host: 'evil.example',
    }
    const quoted = await ask(`${nginx.url}/echo`, { body: {}, headers: forged })
    expect(challengeIn(quoted).resource).toMatchObject({ url: `${nginx.url}/echo` })
    const manifest = await ask(`${nginx.url}/.well-known/svc.json`, { method: 'GET', headers: forged })
    expect(await manifest.text()).not.toMatch(/evil|gopher|javascript/)
  })

  it.each([
    ['a host of another name', '/echo', 'evil.example'],
    ['an absolute URL of another host', 'http://evil.example/echo', '127.0.0.1'],
  ])('%s is not answered', async (_, target, host) => {
    const lines = [
      `Host: ${host}`,
      'Connection: close',
      'Content-Length: 2',
      'Content-Type: application/json',
    ]
    const answer = await sendRaw(nginx.url, `POST ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n{}`)
    expect(answer.status).toBe(421)
    expect(answer.head + answer.body).not.toContain('evil')
  })

  it('what strangers must not see stays inside, however its path is written', async () => {
    const paths = [
      '/metrics',
      '//metrics',
      '/%6detrics',
      '/x/../metrics',
      '/metrics?a',
      '/_svc/runs',
      '/_svc/./runs',
    ]
    for (const path of paths) {
      const answer = await sendRaw(
        nginx.url,
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${nginx.port}\r\nConnection: close\r\n\r\n`,
      )
      expect([path, answer.status]).toEqual([path, 404])
    }
  })
})

it('who calls is whom nginx saw: a limit by address is not evaded by a header', async () => {
  const echo = defineEndpoint({ name: 'echo', price: '$0.01', handler: () => 1 })
  const seller = await open([echo], { trustProxy: 1, rateLimit: { perMinute: 1, per: 'ip' } })
  const nginx = await inFrontOf([seller])
  const from = (address: string) =>
    ask(`${nginx.url}/echo`, { body: {}, headers: { 'x-forwarded-for': address, 'x-real-ip': address } })
  expect((await from('203.0.113.1')).status).toBe(402)
  expect((await from('203.0.113.2')).status).toBe(429)
})

describe('when time runs out', () => {
  const impatient = (conf: string) => conf.replace(/proxy_read_timeout \S+;/, 'proxy_read_timeout 1s;')
  const KEY = { 'idempotency-key': 'a-random-key-that-no-stranger-guesses' }

  it('a caller that hangs up before its payment is recorded is not charged', async () => {
    const door = gated()
    const seller = await open([door.endpoint])
    const nginx = await inFrontOf([seller])
    const payment = await signFor(seller, `${nginx.url}/slow`)
    const hangUp = new AbortController()
    const call = ask(`${nginx.url}/slow`, { headers: payment, signal: hangUp.signal })
    await door.entered()
    const ended = seller.nextEnded()
    hangUp.abort()
    await expect(call).rejects.toThrow()
    expect((await ended).final).toBe('abandoned')
    door.open()
    expect(received(seller)).toBe(0n)
  })

  it('in the middle of settling, it is said to be unknown, and the same request gets the answer', async () => {
    const charges = memoryChargeStore()
    const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ done: true }) })
    const seller = await open([work], { stores: { charges }, idempotency: { onLostResponse: 'replay' } })
    const nginx = await inFrontOf([seller], impatient)
    const headers = { ...KEY, ...(await signFor(seller, `${nginx.url}/work`)) }
    seller.sandbox.faults.set('settle', 'slow-after', { times: 1, delayMs: 4_000 })
    const cut = await ask(`${nginx.url}/work`, { headers })
    expect([cut.status, cut.headers.get('retry-after')]).toEqual([503, '2'])
    const error = await errorOf(cut)
    expect(error.code).toBe('settlement_unknown')
    expect(error.message).not.toMatch(/not charged/)
    await expect.poll(async () => (await ask(`${nginx.url}/work`, { headers })).status).toBe(200)
    expect(received(seller)).toBe(PRICE)
  })
})

it('a replica that is killed in a paid call: its caller is not told to pay again, and another replica answers', async () => {
  const redis = await startRedis()
  closing({ close: redis.stop })
  const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ run: 0 }) })
  const stand = await open([work])
  const { sandbox } = stand
  const start = async (options: object) => {
    const place = { redisUrl: redis.url, advanced: { timeouts: { leaseMs: 300 } }, idempotency: {} }
    const child = await childAgent(sandbox, { ...place, ...options }, 'halting-agent.mjs')
    closing({ close: () => child.process.kill('SIGKILL') })
    return child
  }
  const dying = await start({ halt: { at: 'after record', signal: 'SIGKILL' } })
  const other = await start({})
  const nginx = closing(await startNginx([dying.url, other.url]))
  const payment = await signFor(stand, `${other.url}/work`, { body: {} })
  const headers = { 'idempotency-key': 'a-random-key-that-cannot-be-guessed', ...payment }
  const request = { body: {}, headers }
  const lost = await ask(`${nginx.url}/work`, request)
  expect([lost.status, (await errorOf(lost)).code]).toEqual([503, 'settlement_unknown'])
  await expect.poll(async () => (await ask(`${nginx.url}/work`, request)).status).toBe(200)
  const answer = await ask(`${nginx.url}/work`, request)
  expect(await answer.json()).toEqual({ run: dying.process.pid })
  expect(received(stand)).toBe(PRICE)

  other.process.kill('SIGKILL')
  const unpaid = async () => {
    const refused = await ask(`${nginx.url}/work`, { body: {} })
    return [refused.status, (await errorOf(refused)).code]
  }
  await expect.poll(unpaid).toEqual([503, 'bad_gateway'])
})
