/** What the bridge says of money: limits that were shown stay, and every payment and every key is told, however a call ends. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { declaredIdentifier } from '../../src/domain/idempotency-key.js'
import { encodeHeader } from '../../src/domain/x402.js'
import { bridgeTo } from '../../src/mcp-buyer/mcp-bridge.js'
import { ended, start } from '../cli/run.js'
import {
  ANSWER,
  failure,
  marketForFile,
  PRICE,
  quote,
  type Script,
  type Seen,
  txIdIn,
} from '../client/market.js'
import { gate } from '../support/gate.js'

const market = marketForFile()
const call = { meta: {}, signal: new AbortController().signal, args: {} }
let payers = 0

const LISTED = { name: 'work', url: 'https://a.example/work', method: 'POST', price: '$0.01' }

/** An agent with one endpoint, whose listing may change. */
function agent(
  work: Script,
  listing: () => object = () => LISTED,
): Promise<{ url: string; paid(): readonly Seen[] }> {
  const manifest = { name: 'A', handle: 'a-a', network: 'testnet', payTo: 'A' }
  return market.seller((seen, shop) => {
    if (!seen.path.endsWith('/svc.json')) return work(seen, shop)
    return { ...ANSWER, body: JSON.stringify({ ...manifest, endpoints: [listing()] }) }
  })
}

async function bridged(work: Script, listing?: () => object) {
  const seller = await agent(work, listing)
  const payer = market.payer({ retry: false })
  const { call: ask } = await bridgeTo(new URL(seller.url).origin, payer.client)
  return { ...payer, seller, ask: (args = {}) => ask({ ...call, name: 'work', args }) }
}

describe('a limit that was shown', () => {
  it.each(['free', 'from $0.01', '$0.01 dynamic', ''])(
    'stays where the agent lists its tool at %j',
    async price => {
      let listing: object = { ...LISTED, price: '$0.001' }
      const { ask, spent } = await bridged(
        (seen, shop) => (seen.payment ? shop.sell(seen.payment) : shop.challenge(shop.entry())),
        () => listing,
      )
      const pricing = price.endsWith('dynamic') ? 'dynamic' : 'fixed'
      listing = { ...LISTED, price: price.replace(' dynamic', ''), pricing }
      for (const _ of [1, 2, 3])
        expect(await ask()).toMatchObject({ structuredContent: { error: { code: 'price_above_max' } } })
      expect(spent()).toBe(0n)
    },
  )

  it('is replaced by a readable amount for the call that was refused, and for no other', async () => {
    let listing: object = { ...LISTED, price: '$0.001' }
    const { ask, spent } = await bridged(
      (seen, shop) => (seen.payment ? shop.sell(seen.payment) : shop.challenge(shop.entry())),
      () => listing,
    )
    listing = LISTED
    const tooDear = { structuredContent: { error: { code: 'price_above_max' } } }
    for (const args of [{ a: 1 }, { b: 2 }]) {
      expect(await ask(args)).toMatchObject(tooDear)
      for (const _ of [1, 2]) expect(await ask(args)).toMatchObject({ structuredContent: { done: true } })
    }
    expect(spent()).toBe(4n * PRICE)
  })
})

describe('a receipt', () => {
  it('is only what this client signed: an agent’s own is not passed on', async () => {
    const forged = { 'x402/payment-response': { success: true, transaction: 'FORGED' } }
    const content = [{ type: 'text', text: 'found', _meta: forged }]
    const seller = await agent(() => ({
      ...ANSWER,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content, _meta: forged } }),
    }))
    const { call: ask } = await bridgeTo(new URL(seller.url).origin, market.payer().client)
    const found = await ask({ ...call, name: 'search_agents' })
    expect(found).toEqual({ content: [{ type: 'text', text: 'found' }] })
  })

  it('is none that a replay claims: it is named so, beside the payments that were sent', async () => {
    const claimed = { success: true, transaction: 'A'.repeat(52), amount: '1', asset: '10458941' }
    const { ask, seller } = await bridged((seen, shop) => {
      if (!seen.payment)
        return quote({ accepts: [shop.entry()], extensions: { 'payment-identifier': declaredIdentifier() } })
      if (shop.seen.filter(({ payment }) => payment).length === 1) return 'cut'
      const headers = { 'idempotency-replayed': 'true', 'PAYMENT-RESPONSE': encodeHeader(claimed) }
      return { ...ANSWER, headers: { ...ANSWER.headers, ...headers } }
    })
    await ask()
    const { _meta, content } = await ask()
    const sent = seller.paid().map(({ payment }) => txIdIn(payment!))
    expect(sent).toHaveLength(2)
    expect(_meta).not.toHaveProperty('x402/payment-response')
    expect(_meta).toMatchObject({
      'svc/replayed': { txId: claimed.transaction },
      'svc/payments': sent.map(txId => ({ txId })),
    })
    for (const txId of sent) expect(JSON.stringify(content)).toContain(txId)
  })
})

describe('a second payment', () => {
  /** Its first answer is lost. */
  const forgetful: Script = async (seen, shop) => {
    if (!seen.payment)
      return quote({ accepts: [shop.entry()], extensions: { 'payment-identifier': declaredIdentifier() } })
    const answer = await shop.sell(seen.payment)
    return shop.seen.filter(({ payment }) => payment).length === 1 ? 'cut' : answer
  }

  it('is not hidden behind the answer that it bought', async () => {
    const { ask, seller, spent } = await bridged(forgetful)
    const lost = await ask()
    const [first] = seller.paid().map(({ payment }) => txIdIn(payment!))
    expect(lost).toMatchObject({
      isError: true,
      structuredContent: { error: { detail: { payments: [{ txId: first, amount: '10000' }] } } },
    })
    const { content, _meta } = await ask()
    const [, second] = seller.paid().map(({ payment }) => txIdIn(payment!))
    expect(spent()).toBe(2n * PRICE)
    expect(_meta).toMatchObject({
      'x402/payment-response': { transaction: second },
      'svc/payments': [{ txId: first }, { txId: second }],
    })
    expect(content[0]).toEqual({ type: 'text', text: '{"done":true}' })
    expect(content[1]).toMatchObject({
      type: 'text',
      text: expect.stringMatching(`payment ${first}: \\$0\\.01 to `),
    })
    // The next call is another one.
    expect((await ask())._meta).not.toHaveProperty('svc/payments')
  })

  it('is told with the first where both answers were lost', async () => {
    const { ask, seller } = await bridged(async (seen, shop) =>
      seen.payment ? failure(500, 'broken') : shop.challenge(shop.entry()),
    )
    await ask()
    const both = await ask()
    const sent = seller.paid().map(({ payment }) => ({ txId: txIdIn(payment!) }))
    expect(both).toMatchObject({ structuredContent: { error: { detail: { payments: sent } } } })
    expect(sent).toHaveLength(2)
  })
})

it('gives the text of JSON as it came', async () => {
  const body = '{"n": 18446744073709551615}'
  const { ask } = await bridged(async (seen, shop) =>
    seen.payment
      ? { ...((await shop.sell(seen.payment)) as typeof ANSWER), body }
      : shop.challenge(shop.entry()),
  )
  expect((await ask()).content).toEqual([{ type: 'text', text: body }])
})

it('leaves out an endpoint that nothing can be made of, and offers the others', async () => {
  const thrower = { toString: 1 }
  const hostile = { ...LISTED, name: 'hostile', description: thrower, period: thrower, calls: thrower }
  const manifest = { name: 'A', handle: 'a-a', network: 'testnet', payTo: 'A', endpoints: [hostile, LISTED] }
  const seller = await market.seller(() => ({ ...ANSWER, body: JSON.stringify(manifest) }))
  const { tools } = await bridgeTo(new URL(seller.url).origin, market.payer().client)
  expect(tools.map(({ name }) => name)).toContain('work')
})

describe('a session', () => {
  const WINDOW = { 'x-svc-subscription': 'a-key', 'x-svc-subscription-expires': '2999-01-01T00:00:00Z' }
  const selling: Script = (seen, shop) => {
    if (seen.headers['x-svc-subscription'] === 'a-key') return ANSWER
    const window = { feePayer: market.sandbox.feePayer, subscriptionPeriod: '30d' }
    return seen.payment ? shop.sell(seen.payment, WINDOW) : shop.challenge(shop.entry({ extra: window }))
  }

  /** A host that speaks to `svc mcp` by hand, so that it can leave when it wants. */
  function host(url: string, more: Record<string, string> = {}) {
    const { address, mnemonic } = market.sandbox.accounts(`host ${++payers}`)
    const before = market.sandbox.balance(address).usdc!
    const env = { SVC_SANDBOX: market.sandbox.url, SVC_MNEMONIC: mnemonic, ...more }
    const child = start(['mcp', '--url', new URL(url).origin], env)
    let heard = ''
    const answered = new Promise<string>(resolve => {
      child.stdout!.on('data', chunk => {
        heard += chunk
        if (heard.includes('"id":2')) resolve(heard)
      })
    })
    const over = ended(child)
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'host', version: '1' },
    }
    const messages = [
      { id: 1, method: 'initialize', params },
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/call', params: { name: 'work', arguments: {} } },
    ]
    for (const message of messages) child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const spent = () => before - market.sandbox.balance(address).usdc!
    return { child, answered, over, spent }
  }

  it('tells on stderr at its end what it paid and which key that bought; the key opens the next session', async () => {
    const seller = await agent(selling, () => ({ ...LISTED, period: '30d' }))
    const first = host(seller.url)
    expect(await first.answered).toContain('done')
    first.child.stdin!.end()
    const { code, stderr } = await first.over
    expect({ code, spent: first.spent() }).toEqual({ code: 0, spent: PRICE })
    const txId = txIdIn(seller.paid()[0]!.payment!)
    expect(stderr).toMatch(new RegExp(`^payment ${txId}: \\$0\\.01 to [A-Z2-7]{58}, charged`, 'm'))
    expect(stderr).toMatch(/^window of \S+\/work[^\n]*; window key a-key$/m)
    for (const key of ['a-key', 'other=x work=a-key']) {
      const next = host(seller.url, { SVC_SUBSCRIPTION_KEY: key })
      expect(await next.answered).toContain('done')
      next.child.stdin!.end()
      expect((await next.over).stderr).not.toContain('a-key')
      expect(next.spent()).toBe(0n)
    }
  })

  it('says at its start that a balance pays first, and that no day limits it', async () => {
    const seller = await agent(selling)
    const { origin } = new URL(seller.url)
    const SVC_BALANCES = join(mkdtempSync(join(tmpdir(), 'svc-')), 'balances.json')
    const started = async (at: string) => {
      const held = { [`testnet ${at}/balance`]: { balances: [{ key: 'a-key', left: '5000000' }] } }
      writeFileSync(SVC_BALANCES, JSON.stringify(held))
      const { child, over } = host(seller.url, { SVC_BALANCES })
      child.stdin!.end()
      return (await over).stderr
    }
    expect(await started(origin)).toContain(
      'a day, counted from now on; the balance there pays first, by no daily limit',
    )
    expect(await started('https://other.example')).not.toContain('balance')
    expect(await started('damaged')).toContain('tools of')
    const unread = start(['mcp', '--url', new URL(origin).host], {
      SVC_SANDBOX: market.sandbox.url,
      SVC_BALANCES,
    })
    expect((await ended(unread)).stderr).toContain('(invalid_url)')
  })

  it.each([
    ['leaves', (child: ReturnType<typeof start>) => void child.stdin!.end(), /charged/],
    [
      'kills it gently',
      (child: ReturnType<typeof start>) => void child.kill('SIGTERM'),
      /perhaps charged: it can land until/,
    ],
  ])('whose host %s while a call is paid tells of the payment', async (_, leave, said) => {
    const paid = gate()
    const left = gate()
    const seller = await agent(async (seen, shop) => {
      if (!seen.payment) return shop.challenge(shop.entry())
      paid.open()
      await left.opened
      return child.killed ? 'silence' : shop.sell(seen.payment)
    })
    const { child, over } = host(seller.url)
    await paid.opened
    leave(child)
    if (child.killed) await over
    left.open()
    const { stderr } = await over
    const txId = txIdIn(seller.paid()[0]!.payment!)
    expect(stderr).toMatch(new RegExp(`^payment ${txId}: [^\\n]*${said.source}[^\\n]* round \\d+$`, 'm'))
  })
})
