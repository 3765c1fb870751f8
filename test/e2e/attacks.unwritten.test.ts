/** What can fail behind a charge: hosts that are no URL, answers that cannot be written. Every door says how the call ended. */

import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import Koa from 'koa'
import mount from 'koa-mount'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { a2aTransport } from '../../src/adapters/a2a/transport.js'
import { BodyBudget } from '../../src/adapters/http/body-memory-limit.js'
import { koaHost } from '../../src/adapters/http/koa-host.js'
import { type HttpOptions, routeTable } from '../../src/adapters/http/route-table.js'
import { transportRoute } from '../../src/adapters/http/transport-route.js'
import { mcpTransport } from '../../src/adapters/mcp/transport.js'
import { type ChargeFinal, OUTCOMES } from '../../src/domain/machines/charge.machine.js'
import { defineAgent, defineEndpoint } from '../../src/index.js'
import type { Charge, ChargeOutcome } from '../../src/ports/charge.js'
import { systemClock } from '../../src/ports/clock.js'
import { silentLogger } from '../../src/ports/logger.js'
import { systemRandom } from '../../src/ports/random.js'
import type { Tasks } from '../../src/ports/tasks.js'
import { closing } from '../support/closing.js'
import { messageOf, rpc } from '../support/doors.js'
import { type RawAnswer, sendRaw } from '../support/raw-http.js'
import { openSeller, type Seller, signFor } from '../support/seller.js'

const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ done: true }) })

const headerOf = ({ head }: RawAnswer, name: string) =>
  new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1]?.trim()

const receiptOf = (answer: RawAnswer) =>
  JSON.parse(Buffer.from(headerOf(answer, 'payment-response') ?? 'bnVsbA==', 'base64').toString())

type Payment = { readonly 'payment-signature': string }

/** One paid call through each door, byte by byte: no client library sends such hosts. */
const DOORS: Readonly<Record<string, (payment: Payment) => { path: string; body: unknown }>> = {
  HTTP: () => ({ path: '/work', body: {} }),
  A2A: () => ({ path: '/a2a', body: rpc('message/send', messageOf('work', [{ kind: 'data', data: {} }])) }),
  MCP: ({ 'payment-signature': header }) => {
    const _meta = { 'x402/payment': JSON.parse(Buffer.from(header, 'base64').toString()) }
    return { path: '/mcp', body: rpc('tools/call', { name: 'work', arguments: {}, _meta }) }
  },
}

function request(door: string, payment: Payment, headers: readonly string[]): string {
  const { path, body } = DOORS[door]!(payment)
  const text = JSON.stringify(body)
  const all = [
    ...headers,
    'Connection: close',
    'Content-Type: application/json',
    `PAYMENT-SIGNATURE: ${payment['payment-signature']}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
  ]
  return `POST ${path} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n${text}`
}

describe('hosts', () => {
  let seller: Seller
  beforeAll(async () => {
    seller = await openSeller([work])
  })
  afterAll(() => seller.close())

  const balance = () => seller.sandbox.balance(seller.sandbox.seller.address).usdc!
  let account = 0
  /** A payer of its own for each few calls. */
  const payment = () =>
    signFor(seller, `${seller.url}/work`, { account: `host ${Math.floor(account++ / 5)}` })

  /** Pays through a door, and holds what it says against what the ledger has. */
  async function settles(door: string, headers: readonly string[]): Promise<RawAnswer> {
    const before = balance()
    const answer = await sendRaw(seller.url, Buffer.from(request(door, await payment(), headers), 'latin1'))
    const moved = balance() - before
    // Node's own parser refuses some of them before there is a request.
    if (answer.status === 400) {
      expect(moved).toBe(0n)
      return answer
    }
    expect([answer.status, moved]).toEqual([200, 10_000n])
    const { txId } = receiptOf(answer)
    expect(seller.sandbox.transactions().at(-1)!.txId).toBe(txId)
    expect(answer.body).toContain('done')
    return answer
  }

  const noOrigins = [
    'agent.example:99999',
    'agent.example:65536',
    '1.2.3.4.5',
    '256.256.256.256',
    '[::g]',
    '[1:2]',
    'xn--a',
  ]
  for (const door of Object.keys(DOORS)) {
    for (const host of noOrigins) {
      it(`${door} with the Host ${host} is charged and answered`, async () => {
        expect((await settles(door, [`Host: ${host}`])).status).toBe(200)
        expect((await settles(door, ['Host: agent.test', `X-Forwarded-Host: ${host}`])).status).toBe(200)
      })
    }
  }

  it('whatever a caller says of hosts, every door answers, and what was charged is delivered', async () => {
    const part = fc.oneof(
      fc.constantFrom(
        ...noOrigins,
        'agent.example',
        'a:80',
        'A.B:0',
        '[::1]',
        '[::ffff:1.2.3.4]:1',
        '0x7f.1',
        '//x',
        'x/y',
        '.',
        '-.',
        'a..b',
        '%41',
        'x@y',
        '',
        ' ',
        ',',
      ),
      fc.stringMatching(/^[\x21-\x7e]{0,20}$/),
      fc.stringMatching(/^[a-z0-9.:[\]-]{1,12}(:\d{1,6})?$/),
      fc.stringMatching(/^[\x20-\x7e\xa0-\xff]{0,12}$/),
    )
    const proto = fc.oneof(fc.constantFrom('http', 'https', 'HTTPS', 'javascript', 'http,https', ''), part)
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.keys(DOORS)),
        part,
        part,
        proto,
        async (door, host, forwarded, scheme) => {
          await settles(door, [
            `Host: ${host}`,
            `X-Forwarded-Host: ${forwarded}`,
            `X-Forwarded-Proto: ${scheme}`,
            `X-Forwarded-For: ${forwarded}`,
          ])
        },
      ),
      { numRuns: 60 },
    )
  })

  it('what is printed is the origin as URLs spell it', async () => {
    for (const [host, origin] of [
      ['AGENT.example:80', 'http://agent.example'],
      ['agent.example:8080', 'http://agent.example:8080'],
      ['agent.example:99999', seller.url],
    ] as const) {
      const { body } = await sendRaw(
        seller.url,
        `GET /.well-known/svc.json HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      )
      expect(JSON.parse(body).endpoints[0].url).toBe(`${origin}/work`)
    }
  })
})

it('what headers cannot carry is refused at start, not found out behind a charge', async () => {
  for (const extBase of ['https://ext.example/漢', 'https://ext.example/a b', 'https://ext.example/ü']) {
    await expect(openSeller([work], { advanced: { extBase } })).rejects.toMatchObject({
      code: 'invalid_options',
    })
  }
})

/** The doors over a charge that has ended in some way, with an answer that cannot be written. */
describe('an answer that cannot be written', () => {
  const TX = 'TX'.padEnd(52, 'A')
  const handed: boolean[] = []
  let outcome: ChargeOutcome
  const logged: unknown[] = []
  const logger = { ...silentLogger, error: (fields: unknown) => void logged.push(fields) }

  const ended = (final: ChargeFinal, answer: object): ChargeOutcome => {
    const { charged } = OUTCOMES[final]
    const receipt = { success: true, transaction: TX, network: 'n', txId: TX, amount: '10000', asset: '1' }
    return {
      final,
      path: [],
      traceId: 'a'.repeat(32),
      spanId: 'b'.repeat(16),
      answer: answer as NonNullable<ChargeOutcome['answer']>,
      ...((charged === 'yes' || charged === 'earlier') && { receipt }),
      ...(charged === 'yes' && { subscription: { key: 'a-key', expiresAtMs: 1_700_000_000_000 } }),
    }
  }

  beforeEach(() => {
    handed.length = 0
    logged.length = 0
  })

  const options = () => {
    const agent = defineAgent({
      name: 'A',
      handle: 'an-agent',
      description: 'Ends.',
      payTo: 'A'.repeat(58),
      network: 'testnet',
      endpoints: [work],
    })
    const charge: Charge = {
      async call(_, { caller }) {
        caller.onEnd(arrived => void handed.push(arrived))
        return outcome
      },
    }
    const bodies = new BodyBudget(100_000)
    const shared = {
      basePath: '',
      bodyBytesMax: 10_000,
      bodies,
      trustProxyHops: 0,
      idempotency: true,
      logger,
    }
    const a2a = a2aTransport({
      charge,
      tasks: {} as Tasks,
      logger,
      endpoints: agent.endpoints,
      match: () => undefined,
      bodyBytesMax: 10_000,
      extBase: 'https://e.example',
      clock: systemClock,
      random: systemRandom,
    })
    const mcp = mcpTransport({
      agent,
      charge,
      match: () => undefined,
      bodyBytesMax: 10_000,
      network: 'testnet',
      manifest: () => '{}',
      registry: undefined,
      logger,
    })
    const freeRoutes = [transportRoute('/a2a', a2a, shared), transportRoute('/mcp', mcp, shared)]
    return { ...shared, charge, endpoints: agent.endpoints, freeRoutes, cors: true }
  }

  const appOf = (http: HttpOptions) => koaHost(routeTable(http), http.logger).app
  const servers: Readonly<Record<string, () => RequestListener>> = {
    'a server of our own': () => appOf(options()).callback(),
    'a mounted app': () => new Koa().use(mount(appOf(options()))).callback(),
  }

  async function ask(listener: RequestListener, door: string): Promise<RawAnswer> {
    const server = createServer(listener).listen(0, '127.0.0.1')
    closing({ close: () => server.close() })
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const header = Buffer.from('{"x402Version":2}').toString('base64')
    return sendRaw(url, request(door, { 'payment-signature': header }, ['Host: agent.test']))
  }

  /** An answer whose body cannot be looked at: what breaks a door that has to word it anew. */
  const unreadable = {
    status: 200,
    get headers(): Record<string, string> {
      throw new Error('cannot be read')
    },
    body: 'x',
  }
  const refusedByNode = {
    status: 200,
    headers: { 'content-type': 'text/plain', 'content-language': 'de', 'x-said': '漢' },
    body: 'x',
  }

  const cases: readonly (readonly [string, string, object])[] = [
    ['HTTP', 'a header that Node refuses', refusedByNode],
    ['HTTP', 'an answer that cannot be read', unreadable],
    ['A2A', 'an answer that cannot be read', unreadable],
    ['MCP', 'an answer that cannot be read', unreadable],
  ]
  for (const [host, listener] of Object.entries(servers)) {
    for (const [door, how, answer] of cases) {
      it(`${door}, ${how}, on ${host}: charged, with the receipt, and not handed over`, async () => {
        outcome = ended('settled', answer)
        const answered = await ask(listener(), door)
        expect(answered.status).toBe(500)
        expect(receiptOf(answered)).toMatchObject({ success: true, txId: TX })
        expect(headerOf(answered, 'x-svc-subscription')).toBe('a-key')
        expect(headerOf(answered, 'content-language')).toBeUndefined()
        const { error, id } = JSON.parse(answered.body)
        const said = door === 'HTTP' ? error : error.data
        expect(said).toMatchObject({
          code: 'answer_not_written',
          outcome: 'settled',
          charged: 'yes',
          txId: TX,
        })
        expect(error.message).toMatch(/You were charged: look txId up/)
        if (door !== 'HTTP') expect(id).toBe(1)
        await expect.poll(() => handed).toEqual([false])
        expect(logged).toHaveLength(door === 'MCP' ? 2 : 1)
      })
    }
  }

  it('says of every other end what it meant for the money', async () => {
    for (const [final, code, charged] of [
      ['served', 'answer_not_written', 'no'],
      ['replayed', 'answer_not_written', 'earlier'],
    ] as const) {
      outcome = ended(final, unreadable)
      for (const door of Object.keys(DOORS)) {
        const { status, body } = await ask(appOf(options()).callback(), door)
        const { error } = JSON.parse(body)
        expect([status, door === 'HTTP' ? error : error.data]).toMatchObject([500, { code, charged }])
      }
    }
    // What a store or a facilitator of somebody else's may have left in it.
    const fields = { txId: TX, round: 1n }
    outcome = { ...ended('inDoubt', unreadable), answer: undefined, problem: { message: 'm', fields } }
    for (const door of Object.keys(DOORS)) {
      const { status, body } = await ask(appOf(options()).callback(), door)
      const { error } = JSON.parse(body)
      const said = { code: 'settlement_unknown', charged: 'maybe', txId: TX }
      expect([status, door === 'HTTP' ? error : error.data]).toMatchObject([503, said])
    }
  })

  it('a result that the MCP SDK does not pass on is not taken for an answer', async () => {
    outcome = ended('settled', { status: 200, headers: { 'content-type': 'image/\u0000' }, body: 5 })
    const answered = await ask(appOf(options()).callback(), 'MCP')
    expect(answered.status).toBe(500)
    expect(JSON.parse(answered.body)).toMatchObject({
      id: 1,
      error: { data: { code: 'answer_not_written', charged: 'yes', txId: TX } },
    })
    await expect.poll(() => handed).toEqual([false])
  })
})
