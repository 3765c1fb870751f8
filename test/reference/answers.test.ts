/** What callers get for their money: each endpoint bought over HTTP, its answer held against its own published schema. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readIndexed } from '../../agents/reference/chain/indexed-transaction.js'
import type { PayeeReport } from '../../agents/reference/payee.js'
import type { SettlementReport } from '../../agents/reference/settlement.js'
import { type X402Report, x402Report } from '../../agents/reference/x402-check.js'
import { ZERO_ADDRESS } from '../../src/adapters/algorand/address.js'
import { encodeHeader } from '../../src/domain/x402.js'
import { openReferenceMarket, type ReferenceMarket } from './reference-market.js'

let market: ReferenceMarket
let schemas: Readonly<Record<string, object>>
beforeAll(async () => {
  market = await openReferenceMarket()
  const response = await fetch(new URL('/openapi.json', market.at('')))
  schemas = ((await response.json()) as { components: { schemas: typeof schemas } }).components.schemas
})
afterAll(() => market.close())

/** Bought, and as documented. */
async function ask<T>(name: string, body: object): Promise<T> {
  const data = await market.ask<T>(name, body)
  const validate = new Ajv2020({ strict: false }).compile(schemas[`${name}.output`]!)
  validate(data)
  expect(validate.errors).toBeNull()
  return data
}

const failing = ({ checks }: { checks: SettlementReport['checks'] }) =>
  checks.filter(({ pass }) => pass !== true).map(({ name }) => name)

describe('specification 4.4.3: the example that an endpoint declares', () => {
  it.each(['summarize', 'payee-check', 'verify-settlement', 'x402-check'])(
    'of %s is its own, and is answered',
    async name => {
      const { requirements } = await market.client.quote(market.at(name))
      const { bazaar } = requirements!.extensions as {
        bazaar: { info: { input: { body: object } } }
      }
      const { body } = bazaar.info.input
      const manifest = await market.client.discover(new URL(market.at('')).origin)
      const { input } = manifest.endpoints.find(endpoint => endpoint.name === name)!
      expect((input as { examples: unknown }).examples).toEqual([body])
      await ask(name, body)
    },
  )
})

describe('summarize', () => {
  it('answers with whole sentences', async () => {
    const text = 'A harbour closes. The harbour was old. It rained.'
    expect(await ask('summarize', { text, max: 40 })).toEqual({
      summary: expect.stringContaining('harbour'),
      chars: expect.any(Number),
    })
  })
})

describe('payee-check', () => {
  it('tells what an address has been paid, by how many, and where it is listed and registered', async () => {
    const { seller } = market.sandbox
    market.sandbox.registry.register({ domain: 'agent.example', address: seller.address })
    await market.client.call(market.at('summarize'), { text: 'Paid once more.' })
    const report = await ask<PayeeReport>('payee-check', { address: seller.address })
    expect(report).toMatchObject({
      address: seller.address,
      network: 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe',
      valid: true,
      exists: true,
      canReceiveUsdc: true,
      usdc: { frozen: false },
      received: { payers: 1, complete: true },
      listed: true,
      registered: true,
      agent: { domain: 'agent.example', cardUrl: 'https://agent.example/.well-known/agent.json' },
    })
    expect(report.resources).toContain(market.at('summarize'))
    const { received } = report
    const landed = market.sandbox.transactions().filter(({ receiver }) => receiver === seller.address)
    // The payment for this very answer settles after it was written.
    expect(received?.payments).toBe(landed.length - 1)
    expect(Date.parse(received!.lastAt!)).toBeGreaterThanOrEqual(Date.parse(received!.firstAt!))
    expect(report.notes).toContain('Everything it got over x402 came from one payer.')
  })

  it('tells an account that cannot be paid', async () => {
    const address = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ'
    const report = await ask<PayeeReport>('payee-check', { address, network: 'testnet' })
    expect(report).toMatchObject({
      valid: true,
      canReceiveUsdc: false,
      usdc: null,
      received: { payments: 0, usd: '$0.00', firstAt: null },
      listed: false,
      registered: false,
      agent: null,
    })
    expect(report.notes.join(' ')).toContain('not opted in')
  })

  it('tells frozen USDC', async () => {
    const { address } = market.sandbox.accounts('frozen')
    market.sandbox.freeze(address, true)
    const report = await ask<PayeeReport>('payee-check', { address })
    expect(report).toMatchObject({
      exists: true,
      canReceiveUsdc: false,
      usdc: { frozen: true, usd: '$100.00' },
    })
  })

  it('tells an address with a wrong character', async () => {
    const address = `B${market.sandbox.seller.address.slice(1)}`
    expect(await ask('payee-check', { address })).toMatchObject({
      valid: false,
      exists: false,
      received: null,
    })
  })

  it('does not charge where it could not look', async () => {
    const before = market.sandbox.balance(market.sandbox.wallet.address).usdc
    const { address } = market.sandbox.seller
    const asked = market.client.call(market.at('payee-check'), { address, network: 'mainnet' })
    await expect(asked).rejects.toMatchObject({ code: 'call_failed', status: 503, detail: { charged: 'no' } })
    expect(market.sandbox.balance(market.sandbox.wallet.address).usdc).toBe(before)
  })
})

describe('verify-settlement', () => {
  it('decodes a settlement from its transaction', async () => {
    const { payment } = await market.client.call(market.at('summarize'), { text: 'Settled.' })
    const report = await ask<SettlementReport>('verify-settlement', { txid: payment!.txId! })
    const landed = market.sandbox.transactions().find(({ txId }) => txId === payment!.txId)!
    expect(failing(report)).toEqual([])
    expect(report).toMatchObject({
      settlement: true,
      transaction: {
        type: 'axfer',
        round: Number(landed.round),
        payer: market.sandbox.wallet.address,
        receiver: market.sandbox.seller.address,
        amount: '10000',
        asset: '10458941',
        usd: '$0.01',
        note: expect.stringMatching(/^x402-payment-v2-/),
        group: { size: 2, transactions: expect.arrayContaining([payment!.txId]) },
        feePayer: market.sandbox.feePayer,
        feeMicroAlgos: '2000',
      },
    })
  })

  it('does not take the sponsor’s half for the payment', async () => {
    const { payment } = await market.client.call(market.at('summarize'), { text: 'Settled.' })
    const settled = market.sandbox.transactions().find(({ txId }) => txId === payment!.txId)!
    const sponsor = market.sandbox
      .transactions()
      .find(({ round, asset }) => round === settled.round && !asset)!
    const report = await ask<SettlementReport>('verify-settlement', { txid: sponsor.txId })
    expect(report.settlement).toBe(false)
    expect(failing(report)).toContain('transfer')
  })

  it('takes the zero address, which some indexers name, for no clawback', () => {
    const { address } = market.sandbox.accounts('a payer')
    const read = (sender: string) =>
      readIndexed({
        ...{ id: 'T', 'tx-type': 'axfer', sender: address, fee: 0, 'confirmed-round': 1, 'round-time': 1 },
        'asset-transfer-transaction': { 'asset-id': 1, amount: 1, receiver: address, sender },
      }).transfer?.clawedBackFrom
    expect([read(ZERO_ADDRESS), read(address)]).toEqual([undefined, address])
  })

  it('says where there is no such transaction', async () => {
    const report = await ask<SettlementReport>('verify-settlement', { txid: 'A'.repeat(52) })
    expect(report).toMatchObject({ settlement: false, transaction: null })
    expect(failing(report)).toEqual(['landed'])
  })
})

describe('x402-check', () => {
  it('finds our own endpoint payable, but for what a sandbox cannot have: a public name', async () => {
    const report = await ask<X402Report>('x402-check', { url: market.at('summarize') })
    expect(report).toMatchObject({
      status: 402,
      usd: 0.01,
      accepted: { scheme: 'exact', amount: '10000', payTo: market.sandbox.seller.address },
    })
    expect(report.checks.map(({ name }) => name)).toEqual([
      'valid-402',
      'usdc',
      'pay-to-opted-in',
      'public-resource',
      'bazaar-listable',
      'challenge-ready',
    ])
    expect(failing(report)).toEqual(['public-resource'])
  })

  it('finds everything in order at a public name', async () => {
    // The proxy in front of the sandbox is the test's word.
    const { fetch } = market.sources
    const proxied: typeof fetch = async (url, request) => {
      const answer = await fetch(market.at('summarize'), request)
      const header = answer.headers.get('payment-required')!
      const challenge = JSON.parse(Buffer.from(header, 'base64').toString())
      answer.headers.set('payment-required', encodeHeader({ ...challenge, resource: { url } }))
      return { ...answer, url: new URL(url) }
    }
    const signal = new AbortController().signal
    const asked = { url: 'https://agent.example.com/api/summarize' }
    const report = await x402Report(asked, { fetch: proxied, chains: market.sources.chains }, signal)
    expect(failing(report)).toEqual([])
    expect(report.ok).toBe(true)
  })

  for (const [what, answer, found] of [
    ['works unpaid', { status: 200 }, /without payment/],
    ['wants another method', { status: 405 }, /405 instead of 402/],
    ['hides the challenge in its body', { status: 402, body: '{"x402Version":2}' }, /no PAYMENT-REQUIRED/],
    [
      'sends bare JSON',
      { status: 402, headers: { 'payment-required': '{}' } },
      /not base64 of a JSON object/,
    ],
    [
      'sends no JSON',
      { status: 402, headers: { 'payment-required': 'AAAA' } },
      /not base64 of a JSON object/,
    ],
    [
      'sends an array',
      { status: 402, headers: { 'payment-required': 'W10=' } },
      /not base64 of a JSON object/,
    ],
    ['nests', { status: 402, headers: { 'payment-required': nested() } }, /nested deeper than 64/],
    ['speaks version 1', challenge({ x402Version: 1 }), /x402Version is "1"/],
    ['lists nothing', challenge({ accepts: [] }), /no way to pay/],
    ['names no resource', challenge({ resource: 'x' }), /no resource/],
  ] as const) {
    it(`says of one that ${what}: no valid 402`, async () => {
      const url = await market.stranger(response => {
        const { status, headers, body } = { headers: {}, body: '{}', ...answer }
        response.writeHead(status, headers).end(body)
      })
      const report = await ask<X402Report>('x402-check', { url, method: 'GET' })
      expect(report.ok).toBe(false)
      expect(report.checks[0]).toMatchObject({ name: 'valid-402', pass: false, fix: expect.any(String) })
      expect(report.checks[0]?.found).toMatch(found)
    })
  }

  it('says that nothing answered', async () => {
    const url = await market.stranger(response => response.destroy())
    const report = await ask<X402Report>('x402-check', { url })
    expect(report).toMatchObject({ status: null, ok: false, accepted: null })
  })

  it('says what is wrong with each part of a challenge', async () => {
    const stranger = market.sandbox.accounts('stranger').address
    const entry = {
      scheme: 'exact',
      network: 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=',
      amount: '1',
      asset: '10458941',
      payTo: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ',
      maxTimeoutSeconds: 60,
      extra: { feePayer: stranger },
    }
    const foreign = { ...entry, asset: '1' }
    const poor = await market.stranger((response, url) =>
      response.writeHead(402, challenge({ resource: { url }, accepts: [foreign, entry] }).headers).end('{}'),
    )
    const report = await ask<X402Report>('x402-check', { url: poor, body: { text: 'x' } })
    expect(failing(report)).toEqual([
      'pay-to-opted-in',
      'public-resource',
      'bazaar-listable',
      'challenge-ready',
    ])
    const other = await market.stranger((response, url) =>
      response.writeHead(402, challenge({ resource: { url }, accepts: [foreign] }).headers).end('{}'),
    )
    expect(failing(await ask('x402-check', { url: other }))).toEqual([
      'usdc',
      'pay-to-opted-in',
      'public-resource',
      'bazaar-listable',
      'challenge-ready',
    ])
  })

  for (const url of ['file:///etc/passwd', 'http://user:pw@agent.example/', 'http://127.0.0.1:22/']) {
    it(`does not charge for ${url}, which it does not read`, async () => {
      const asked = market.client.call(market.at('x402-check'), { url })
      await expect(asked).rejects.toMatchObject({ status: 422, detail: { charged: 'no' } })
    })
  }
})

function challenge(changes: object) {
  const whole = { x402Version: 2, resource: { url: 'https://x.example.com/' }, accepts: [{}], ...changes }
  return { status: 402, headers: { 'payment-required': encodeHeader(whole) } }
}

function nested(): string {
  return Buffer.from(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`).toString('base64')
}
