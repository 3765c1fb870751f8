/** Sellers that lie about balances, and answers that get lost: nothing is paid twice, and nothing beyond what was agreed. */
import { inspect } from 'node:util'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { memorySpendLedger } from '../../src/adapters/memory/spend-ledger.js'
import type { ClientOptions } from '../../src/client.js'
import { encodeHeader } from '../../src/domain/x402.js'
import { eventually } from '../support/eventually.js'
import { gate } from '../support/gate.js'
import { ANSWER, type Answer, failure, marketForFile, PRICE, quote, type Seen, type Shop } from './market.js'

const market = marketForFile()
const ID = 'a'.repeat(43)
const IN_AN_HOUR = () => new Date(Date.now() + 3_600_000).toISOString()

interface Lies {
  /** The balance that the quote of the purchase asks for; by default what was asked. */
  readonly asks?: (amount: bigint) => bigint
  readonly expires?: string | undefined
  readonly says?: unknown
  readonly key?: string
  readonly sale?: (shop: Shop, seen: Seen, sold: Answer) => Answer | Promise<Answer>
  readonly quoted?: (shop: Shop, origin: string) => Answer
  /** What it answers to a call on a balance; the calls on balances so far. */
  readonly covered?: (seen: Seen, calls: number, shop: Shop) => Answer | Promise<Answer>
}

const counted = (
  charged: number | string = 10_000,
  left: number | string = 90_000,
  receipt?: object,
): Answer => ({
  ...ANSWER,
  headers: {
    ...ANSWER.headers,
    'x-svc-charged': String(charged),
    'x-svc-balance': String(left),
    'x-svc-receipt': encodeHeader(receipt ?? { balance: ID, call: 'run-1', charged, left }),
  },
})

/** A seller of balances and of `/work`, by the book but for its lies. */
async function liar(lies: Lies = {}) {
  let keys = 0
  let calls = 0
  const seller = await market.seller(async (seen, shop) => {
    const origin = `http://${seen.headers.host}`
    const extensions = {
      'svc-balance': {
        info: {
          endpoint: `${origin}/balance`,
          header: 'x-svc-balance-key',
          amounts: ['100000'],
          period: '1h',
        },
      },
    }
    if (seen.path === '/balance') {
      const amount = BigInt(Math.round(Number(JSON.parse(seen.body).amount.slice(1)) * 1e6))
      const asked = lies.asks?.(amount) ?? amount
      if (!seen.payment) {
        const entry = shop.entry({
          amount: String(asked),
          extra: { feePayer: market.sandbox.feePayer, balancePeriod: '1h' },
        })
        return quote({ resource: { url: `${origin}/balance` }, accepts: [entry] })
      }
      const sold = (await shop.sell(seen.payment, {
        'x-svc-balance-key': lies.key ?? `svc_key_${++keys}`,
        ...('expires' in lies
          ? lies.expires !== undefined && { 'x-svc-balance-expires': lies.expires }
          : { 'x-svc-balance-expires': IN_AN_HOUR() }),
      })) as Extract<Answer, object>
      const body = JSON.stringify({ balance: 'says' in lies ? lies.says : String(amount) })
      const answer = sold.status === 200 ? { ...sold, body } : sold
      return lies.sale ? lies.sale(shop, seen, answer) : answer
    }
    const own =
      lies.quoted?.(shop, origin) ??
      quote({ resource: { url: `${origin}/work` }, accepts: [shop.entry()], extensions })
    if (seen.payment) return shop.sell(seen.payment)
    if (!seen.headers['x-svc-balance-key']) return own
    const covered = await (lies.covered ?? (() => counted()))(seen, ++calls, shop)
    return typeof covered === 'object' && covered.status === 402
      ? ({
          ...(own as object),
          headers: { ...(own as { headers: object }).headers, ...covered.headers },
        } as Answer)
      : covered
  })
  const agent = new URL(seller.url).origin
  const onBalance = () => seller.seen.filter(({ headers }) => headers['x-svc-balance-key'] !== undefined)
  const purchases = () =>
    new Set(
      seller
        .paid()
        .filter(({ path }) => path === '/balance')
        .map(({ payment }) => payment),
    ).size
  return { ...seller, agent, onBalance, purchases }
}

const short = (free = '0'): Answer => ({ status: 402, headers: { 'x-svc-balance': free } })
const payer = (options: ClientOptions = {}) => market.payer({ maxPerDay: '$1', ...options })
const AGAIN = { below: '$0.05', amount: '$0.1' }

describe('a purchase', () => {
  it.each([
    ['more', 1n],
    ['less', -1n],
  ])('that is quoted at %s than was asked is not made', async (_, more) => {
    const { agent } = await liar({ asks: amount => amount + more })
    const { client, spent } = payer()
    await expect(client.topUp(agent, '$0.1')).rejects.toMatchObject({ code: 'not_a_balance' })
    expect([spent(), client.spentToday]).toEqual([0n, 0])
  })

  it.each([
    ['an end in the past', { expires: '2001-01-01T00:00:00Z' }, /has ended already/],
    ['an end that is no time', { expires: 'NaN' }, /has ended already/],
    ['no end', { expires: undefined }, /has ended already/],
    [
      'an end before its period',
      { expires: new Date(Date.now() + 1_000).toISOString(), says: '100000' },
      undefined,
    ],
    ['another amount', { says: '5' }, /'5' base units, and 100000 were paid for/],
    ['an amount that is no text', { says: { deep: [] } }, /were paid for/],
  ])('whose seller says %s is held as it was quoted, with a warning', async (_, lies, message) => {
    const { agent, url } = await liar(lies)
    const { client, spent } = payer()
    const bought = await client.topUp(agent, '$0.1')
    expect(bought.left).toBe('100000')
    expect(Math.abs(bought.expiresAt! - Date.now() - 3_600_000)).toBeLessThan(10_000)
    if (message)
      expect(bought.warnings).toMatchObject([
        { code: 'balance_mismatch', message: expect.stringMatching(message) },
      ])
    expect((await client.call(url)).charged).toBe('10000')
    expect(spent()).toBe(100_000n)
  })

  it('gets the stream that it read, however long its seller is silent about the cost', async () => {
    const stream = { ...ANSWER, headers: { ...ANSWER.headers, 'x-svc-reserved': '10000' } }
    const busy = failure(409, 'idempotency_in_progress')
    for (const about of ['silence', 'cut', busy, failure(500, 'handler_error')] as const) {
      const covered = (seen: Seen) => (seen.headers['x-svc-max-charge'] === '0' ? about : stream)
      const { agent, url } = await liar({ covered })
      const { client } = payer({ timeoutMs: 2_000 })
      await client.topUp(agent, '$0.1')
      const { data, charged } = await client.call(url)
      expect([data, charged]).toEqual([{ done: true }, undefined])
    }
  })

  it.each([
    ['no key', ''],
    ['a key with a space', 'svc key'],
    ['a key of 5,000 characters', 'k'.repeat(5_000)],
  ])('that brings %s was charged, says its error; the next call pays for itself', async (_, key) => {
    const { agent, url } = await liar({ key })
    const { client, spent } = payer()
    await expect(client.topUp(agent, '$0.1')).rejects.toMatchObject({
      code: 'not_a_balance',
      detail: { charged: 'yes', txId: expect.any(String) },
    })
    expect(await client.balances()).toEqual([])
    expect((await client.call(url)).payment).toMatchObject({ amount: String(PRICE) })
    expect(spent()).toBe(100_000n + PRICE)
  })

  it('whose key has 10 MB is in doubt: asked for again it is the same payment', async () => {
    const { agent, purchases } = await liar({ key: 'k'.repeat(10_000_000) })
    const { client, spent } = payer()
    for (let asked = 0; asked < 2; asked++)
      await expect(client.topUp(agent, '$0.1')).rejects.toMatchObject({
        detail: { charged: expect.stringMatching(/yes|maybe/) },
      })
    expect(purchases()).toBe(1)
    expect(spent()).toBe(100_000n)
  })

  it('whose answer is lost again and again is paid once, whatever is asked for next', async () => {
    let isDown = true
    const { agent, purchases } = await liar({
      sale: (_, __, sold) =>
        isDown
          ? 'cut'
          : ({
              ...ANSWER,
              headers: {
                ...ANSWER.headers,
                'x-svc-balance-key': 'svc_found',
                'x-svc-balance-expires': IN_AN_HOUR(),
              },
              body: '{"balance":"100000"}',
            } as typeof sold),
    })
    const { client, spent } = payer()
    await expect(client.topUp(agent, '$0.1')).rejects.toMatchObject({ code: 'network_error' })
    await expect(client.topUp(agent, '$0.2')).rejects.toMatchObject({ code: 'network_error' })
    expect(spent()).toBe(100_000n)
    isDown = false
    expect(await client.topUp(agent, '$0.1')).toMatchObject({ left: '100000' })
    expect(purchases()).toBe(1)
    expect(spent()).toBe(100_000n)
    expect(await client.balances()).toHaveLength(1)
  })

  it('whose answer was lost is asked for an hour long, and given up after ten minutes where its seller has it no more', async () => {
    let end: 'cut' | 'gone' | 'sold' = 'cut'
    const { agent, purchases } = await liar({
      sale: (_, __, sold) => (end === 'sold' ? sold : end === 'gone' ? failure(409, 'payment_spent') : 'cut'),
    })
    const ledger = memorySpendLedger()
    const { client, spent } = payer({ ledger })
    const fails = () =>
      expect(client.topUp(agent, '$0.1')).rejects.toMatchObject({ detail: { charged: 'yes' } })
    await expect(client.topUp(agent, '$0.1')).rejects.toMatchObject({ code: 'network_error' })
    end = 'gone'
    await fails()
    await fails()
    const before = String(ledger.balances!())
    const [[name, account]] = Object.entries<{ buying: object[] }>(JSON.parse(before)) as [
      [string, { buying: object[] }],
    ]
    const buying = [{ ...account.buying[0], begunMs: Date.now() - 20 * 60_000, untilMs: 0 }]
    ledger.balances!({ before, after: JSON.stringify({ [name]: { ...account, buying } }) })
    end = 'cut'
    await expect(client.topUp(agent, '$0.1')).rejects.toMatchObject({ code: 'network_error' })
    end = 'gone'
    await fails()
    expect([purchases(), spent()]).toEqual([1, 100_000n])
    end = 'sold'
    expect(await client.topUp(agent, '$0.1')).toMatchObject({ left: '100000' })
    expect([purchases(), spent()]).toEqual([2, 200_000n])
  })

  it.each([
    ['three hours ago', -3 * 3_600_000],
    ['by a clock that was years behind', -20 * 365 * 86_400_000],
    ['by a clock that was years ahead', 20 * 365 * 86_400_000],
  ])(
    'that began %s is asked for once more, and given up where its seller has it no more',
    async (_, ageMs) => {
      let end: Answer = 'cut'
      const { agent, purchases } = await liar({ sale: () => end })
      const ledger = memorySpendLedger()
      const { client, spent } = payer({ ledger })
      const beginsThen = async () => {
        await expect(client.topUp(agent, '$0.1')).rejects.toMatchObject({ code: 'network_error' })
        const before = String(ledger.balances!())
        const [[name, account]] = Object.entries<{ buying: object[] }>(JSON.parse(before)) as [
          [string, { buying: object[] }],
        ]
        const begunMs = Date.now() + ageMs
        const buying = [{ ...account.buying[0], begunMs, untilMs: begunMs + 60_000 }]
        ledger.balances!({ before, after: JSON.stringify({ [name]: { ...account, buying } }) })
      }
      await beginsThen()
      await expect(client.topUp(agent, '$0.1')).rejects.toMatchObject({ code: 'network_error' })
      end = { ...ANSWER, headers: { ...ANSWER.headers, 'x-svc-balance-key': 'svc_found' } }
      expect(await client.topUp(agent, '$0.1')).toMatchObject({ left: '100000' })
      expect([purchases(), spent()]).toEqual([1, 100_000n])
      end = 'cut'
      await beginsThen()
      end = failure(409, 'payment_spent')
      const again = client.topUp(agent, '$0.1').catch((error: unknown) => error)
      await eventually(() => expect(purchases()).toBe(3))
      expect(await again).toMatchObject({ detail: { charged: 'yes' } })
      expect(spent()).toBe(300_000n)
    },
  )

  it('whose answer was lost hours ago stays its payer’s, whatever another wallet with its ledger buys there since', async () => {
    let isDown = true
    let keys = 0
    const kept = (): Answer => ({
      ...ANSWER,
      headers: { ...ANSWER.headers, 'x-svc-balance-key': `svc_kept_${++keys}` },
    })
    const { agent, purchases } = await liar({ sale: () => (isDown ? 'cut' : kept()) })
    const ledger = memorySpendLedger()
    const [one, other] = [payer({ ledger }), payer({ ledger })]
    await expect(one.client.topUp(agent, '$0.1')).rejects.toMatchObject({ code: 'network_error' })
    const before = String(ledger.balances!())
    ledger.balances!({ before, after: before.replace(/"(begun|until)Ms":\d+/g, '"$1Ms":0') })
    await expect(other.client.topUp(agent, '$0.1')).rejects.toMatchObject({ code: 'network_error' })
    isDown = false
    for (const { client } of [one, other])
      expect(await client.topUp(agent, '$0.1')).toMatchObject({ left: '100000' })
    expect([purchases(), one.spent(), other.spent()]).toEqual([2, 100_000n, 100_000n])
    expect(ledger.balances!()).toMatch(/"buying":\[\]/)
  })

  it('of another wallet that began by a clock which was years ahead keeps nobody from buying', async () => {
    let end: Answer | undefined = 'cut'
    const { agent } = await liar({ sale: (_, __, sold) => end ?? sold })
    const ledger = memorySpendLedger()
    const [one, other] = [payer({ ledger }), payer({ ledger })]
    await expect(one.client.topUp(agent, '$0.1')).rejects.toMatchObject({ code: 'network_error' })
    const before = String(ledger.balances!())
    const aheadMs = Date.now() + 20 * 365 * 86_400_000
    ledger.balances!({ before, after: before.replace(/"(begun|until)Ms":\d+/g, `"$1Ms":${aheadMs}`) })
    end = undefined
    expect(await other.client.topUp(agent, '$0.1')).toMatchObject({ left: '100000' })
  })

  it('is not made for a quote of another origin, and not beyond the day', async () => {
    const { agent } = await liar({ quoted: shop => shop.challenge(shop.entry()) })
    const { client, spent } = payer({ maxPerDay: '$0.05' })
    await expect(client.topUp(agent, '$0.1')).rejects.toMatchObject({ code: 'daily_cap_reached' })
    const elsewhere = await market.seller((_, shop) =>
      quote({
        resource: { url: 'https://elsewhere.example/balance' },
        accepts: [shop.entry({ amount: '20000' })],
      }),
    )
    await expect(client.topUp(new URL(elsewhere.url).origin, '$0.02')).rejects.toMatchObject({
      code: 'resource_elsewhere',
    })
    expect(spent()).toBe(0n)
  })

  it('waits for the one that another process makes, and is a second balance', async () => {
    const door = gate()
    const { agent } = await liar({
      async sale(_, __, sold) {
        door.enter()
        await door.opened
        return sold
      },
    })
    const ledger = memorySpendLedger()
    const [one, two] = [payer({ ledger }), payer({ ledger })]
    const first = one.client.topUp(agent, '$0.1')
    await door.entered()
    const second = two.client.topUp(agent, '$0.1')
    door.open()
    await Promise.all([first, second])
    expect([one.spent(), two.spent()]).toEqual([100_000n, 100_000n])
    expect(await two.client.balances()).toHaveLength(2)
  })

  it('by a process whose clock is a year ahead takes no balance from the others', async () => {
    const ledger = memorySpendLedger()
    const { agent, url } = await liar()
    const { client, spent } = payer({ ledger })
    await client.topUp(agent, '$0.1')
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 365 * 86_400_000 })
    onTestFinished(() => void vi.useRealTimers())
    await payer({ ledger }).client.topUp(agent, '$0.1')
    expect(await client.balances()).toHaveLength(2)
    for (const _ of Array(2)) expect(await client.call(url)).toMatchObject({ charged: '10000' })
    expect(spent()).toBe(100_000n)
  })

  it('forgets a balance that has ended a day ago, once its seller knows it no more', async () => {
    const { agent, url } = await liar({
      covered: ({ headers }) =>
        headers['x-svc-balance-key'] === 'svc_key_1' ? { status: 402, headers: {} } : counted(),
    })
    const { client } = payer()
    await client.topUp(agent, '$0.1')
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 30 * 3_600_000 })
    onTestFinished(() => void vi.useRealTimers())
    await client.topUp(agent, '$0.1')
    expect(await client.balances()).toHaveLength(2)
    expect(await client.call(url)).toMatchObject({ charged: '10000' })
    await eventually(async () => expect(await client.balances()).toHaveLength(1))
  })

  it('is not sent where the ledger gave the purchase to another process meanwhile', async () => {
    const ledger = memorySpendLedger()
    const { agent, purchases } = await liar()
    const { client, spent } = payer({
      ledger: Object.assign(memorySpendLedger(), {
        balances: ((change?: { before: string; after: string }) => {
          if (change?.after.includes('"payment"')) {
            const stolen = change.before.replace(/"token":"[^"]*"/, '"token":"another"')
            ledger.balances!({ before: ledger.balances!() as string, after: stolen })
          }
          return ledger.balances!(change)
        }) as typeof ledger.balances,
      }),
    })
    await expect(client.topUp(agent, '$0.1')).rejects.toMatchObject({ code: 'reservation_lost' })
    expect([purchases(), spent()]).toEqual([0, 0n])
  })
})

it('a call that is paid for by itself ends in its own words, also where the ledger of balances is down', async () => {
  const { url, purchases, paid } = await liar()
  const ledger = Object.assign(memorySpendLedger(), {
    balances(change?: object) {
      if (change) throw new Error('Command timed out')
      return ''
    },
  })
  const { client } = payer({ ledger, fetchImpl: answersLost })
  await expect(client.call(url)).rejects.toMatchObject({
    code: 'network_error',
    detail: { charged: 'yes', amount: '10000', txId: expect.any(String) },
  })
  expect([purchases(), paid().length > 0]).toEqual([0, true])
})

/** The answers to payments are lost on their way. */
const answersLost: typeof fetch = async (url, init) => {
  const answer = await fetch(url, init)
  if (new Headers(init?.headers).has('payment-signature')) throw new TypeError('fetch failed')
  return answer
}

describe('a call on a balance', () => {
  it('says the most that it may cost, its key and its idempotency key, and no payment', async () => {
    const { agent, url, onBalance } = await liar()
    const { client } = payer()
    await client.topUp(agent, '$0.1')
    await client.call(url)
    const [sent] = onBalance()
    expect(sent!.headers).toMatchObject({
      'x-svc-balance-key': 'svc_key_1',
      'x-svc-max-charge': '10000',
      'idempotency-key': expect.stringMatching(/^.{16,}$/),
    })
    expect(sent!.payment).toBeUndefined()
  })

  it.each([
    ['cut', 'cut' as Answer, 'network_error'],
    ['torn', 'torn' as Answer, 'network_error'],
    ['charge_unknown', failure(503, 'charge_unknown'), 'call_failed'],
    ['a gateway', { status: 502 }, 'call_failed'],
  ])(
    'whose end is not known (%s) is asked again with its balance and its key, and nothing else pays for it',
    async (_, lost, code) => {
      let isDown = true
      const { agent, url, onBalance } = await liar({ covered: () => (isDown ? lost : counted()) })
      const { client, spent } = payer({ topUp: AGAIN })
      await client.topUp(agent, '$0.1')
      const error = await client.call(url).catch(cause => cause)
      expect(error).toMatchObject({ code, detail: { charged: 'maybe', idempotencyKey: expect.any(String) } })
      const { idempotencyKey } = error.detail
      isDown = false
      expect(await client.call(url, undefined, { idempotencyKey })).toMatchObject({ charged: '10000' })
      const keys = new Set(
        onBalance().map(({ headers }) => `${headers['x-svc-balance-key']} ${headers['idempotency-key']}`),
      )
      expect(keys.size).toBe(1)
      expect(onBalance()).toHaveLength(4)
      expect(spent()).toBe(100_000n)
    },
  )

  it('that was lost, and is then refused, is not paid for in another way', async () => {
    const { agent, url, onBalance } = await liar({ covered: (_, calls) => (calls === 1 ? 'cut' : short()) })
    const { client, spent } = payer({ topUp: AGAIN })
    await client.topUp(agent, '$0.1')
    await client.topUp(agent, '$0.1')
    const error = await client.call(url).catch(cause => cause)
    expect(error).toMatchObject({ code: 'call_failed', status: 402, detail: { charged: 'maybe' } })
    const again = { idempotencyKey: error.detail.idempotencyKey }
    await expect(client.call(url, undefined, again)).rejects.toMatchObject({ detail: { charged: 'maybe' } })
    expect(new Set(onBalance().map(({ headers }) => headers['x-svc-balance-key'])).size).toBe(1)
    expect(spent()).toBe(200_000n)
  })

  const refused = (reserved: number) => ({
    status: 402,
    headers: { 'x-svc-balance': '0', 'x-svc-reserved': `${reserved}` },
  })

  it('that was lost, and is refused because the balance is used up, goes to another under its key', async () => {
    const { agent, url, onBalance } = await liar({
      covered: ({ headers }, calls) =>
        calls === 1 ? 'cut' : headers['x-svc-balance-key'] === 'svc_key_1' ? refused(0) : counted(),
    })
    const { client, spent } = payer()
    await client.topUp(agent, '$0.1')
    await client.topUp(agent, '$0.1')
    expect(await client.call(url)).toMatchObject({ charged: '10000' })
    expect(onBalance().map(({ headers }) => headers['x-svc-balance-key'])).toEqual([
      'svc_key_1',
      'svc_key_1',
      'svc_key_2',
    ])
    expect(new Set(onBalance().map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
    expect(spent()).toBe(200_000n)
  })

  it('that was lost, and is refused for what a stream holds that nobody reads, is not paid for in another way', async () => {
    const opened = { ...ANSWER, headers: { ...ANSWER.headers, 'x-svc-reserved': '10000' } }
    const { agent, url } = await liar({
      covered: (_, calls) => (calls === 1 ? opened : calls === 2 ? 'cut' : refused(10_000)),
    })
    const { client, spent } = payer({ topUp: AGAIN })
    await client.topUp(agent, '$0.1')
    await client.stream(url)
    await expect(client.call(url)).rejects.toMatchObject({
      status: 402,
      message: expect.stringMatching(/; an earlier attempt took nothing, says the seller$/),
      detail: { charged: 'no' },
    })
    expect(spent()).toBe(100_000n)
  })

  it('that was lost, and is ended by its caller while others hold the balance, stays in doubt', async () => {
    const stop = new AbortController()
    let isHeld = true
    const { agent, url, onBalance } = await liar({
      covered: (_, calls) => (calls === 1 ? 'cut' : isHeld ? refused(10_000) : counted()),
    })
    const fetchImpl: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      // It is asked again after a pause.
      if (response.headers.has('x-svc-reserved')) setTimeout(() => stop.abort(), 30)
      return response
    }
    const { client, spent } = payer({ fetchImpl })
    await client.topUp(agent, '$0.1')
    const error = await client.call(url, undefined, { signal: stop.signal }).catch(cause => cause)
    expect(error.detail).toEqual({ charged: 'maybe', idempotencyKey: expect.any(String) })
    isHeld = false
    const { idempotencyKey } = error.detail
    expect(await client.call(url, undefined, { idempotencyKey })).toMatchObject({ charged: '10000' })
    expect(new Set(onBalance().map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
    expect(spent()).toBe(100_000n)
  })

  it('that was lost, and is refused when its seller may have forgotten its key, stays in doubt', async () => {
    let isDown = true
    const { agent, url } = await liar({ covered: () => (isDown ? 'cut' : refused(0)) })
    const { client, spent } = payer({ topUp: AGAIN })
    await client.topUp(agent, '$0.1')
    const again = { idempotencyKey: 'of-a-call-that-is-in-doubt-for-long' }
    await expect(client.call(url, {}, again)).rejects.toMatchObject({ detail: { charged: 'maybe' } })
    isDown = false
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 11 * 60_000 })
    onTestFinished(() => void vi.useRealTimers())
    await expect(client.call(url, {}, again)).rejects.toMatchObject({ detail: { charged: 'maybe' } })
    expect(spent()).toBe(100_000n)
  })

  it.each([
    ['is too large to be read', { ...(counted() as object), body: new Uint8Array(17 * 2 ** 20) }],
    ['leads elsewhere', { status: 302, headers: { location: '/work', 'x-svc-charged': '10000' } }],
  ])('whose answer %s may have been charged', async (_, answer) => {
    const { agent, url } = await liar({ covered: () => answer as Answer })
    const { client } = payer()
    await client.topUp(agent, '$0.1')
    const detail = { charged: 'maybe', idempotencyKey: expect.any(String) }
    await expect(client.call(url)).rejects.toMatchObject({ code: 'call_failed', detail })
  })

  it('by fetch: the same request sent again is the same call', async () => {
    let isDown = true
    const { agent, url, onBalance } = await liar({ covered: () => (isDown ? 'cut' : counted()) })
    const { client, spent } = payer()
    await client.topUp(agent, '$0.1')
    await expect(client.fetch(url, { method: 'POST' })).rejects.toMatchObject({ code: 'network_error' })
    isDown = false
    expect(await client.fetch(url, { method: 'POST' })).toMatchObject({ status: 200, charged: '10000' })
    expect(await client.fetch(url, { method: 'POST' })).toMatchObject({ status: 200 })
    const keys = onBalance().map(({ headers }) => headers['idempotency-key'])
    expect([new Set(keys.slice(0, 4)).size, new Set(keys).size]).toEqual([1, 2])
    expect(spent()).toBe(100_000n)
  })

  it('that its caller ends may have been charged', async () => {
    const stop = new AbortController()
    const { agent, url } = await liar({
      covered() {
        stop.abort()
        return 'silence'
      },
    })
    const { client, spent } = payer()
    await client.topUp(agent, '$0.1')
    const ended = client.call(url, undefined, { signal: stop.signal })
    await expect(ended).rejects.toMatchObject({ code: 'aborted', detail: { charged: 'maybe' } })
    const late = client.call(url, undefined, { signal: stop.signal })
    await expect(late).rejects.not.toMatchObject({ detail: { charged: 'maybe' } })
    expect(spent()).toBe(100_000n)
  })

  it('for which more was taken than it allowed is reported, and the balance is used no more, by no process', async () => {
    const { agent, url, onBalance } = await liar({ covered: () => counted(10_001, 89_999) })
    const ledger = memorySpendLedger()
    const { client, spent } = payer({ ledger })
    await client.topUp(agent, '$0.1')
    expect(await client.call(url)).toMatchObject({
      charged: '10001',
      warnings: [{ code: 'charged_above_max', message: expect.stringMatching(/\$0\.010001.*\$0\.01$/) }],
    })
    expect((await client.call(url)).payment).toMatchObject({ amount: '10000' })
    expect((await payer({ ledger }).client.call(url)).payment).toMatchObject({ amount: '10000' })
    expect(onBalance()).toHaveLength(1)
    expect(spent()).toBe(110_000n)
  })

  it('is not paid for again by itself where its balance is used no more, and its key comes again', async () => {
    const { agent, url } = await liar({ covered: () => counted(10_001, 89_999) })
    const { client, spent } = payer()
    await client.topUp(agent, '$0.1')
    const options = { idempotencyKey: 'one-call-of-the-caller-s-own-making' }
    for (const _ of [1, 2])
      expect(await client.call(url, {}, options)).toMatchObject({ charged: '10001', data: { done: true } })
    expect(spent()).toBe(100_000n)
  })

  it.each([
    ['more than was bought', '99999999999'],
    ['nonsense', '-1'],
    ['NaN', 'NaN'],
  ])('whose seller says that %s is left changes nothing for the better', async (_, left) => {
    const { agent, url } = await liar({ covered: () => counted(10_000, left) })
    const { client } = payer()
    await client.topUp(agent, '$0.1')
    await client.call(url)
    expect((await client.balances())[0]!.left).toBe('100000')
  })

  it.each([
    ['names another charge', { balance: ID, call: 'run', charged: 1, left: 2 }, ['balance_mismatch'], true],
    ['names no balance', { call: 'run', charged: 10_000, left: 2 }, undefined, false],
    ['is no receipt', { balance: { a: 1 }, call: [], charged: 1e30, left: null }, undefined, false],
  ])('whose receipt %s says so', async (_, receipt, codes, isThere) => {
    const { agent, url } = await liar({ covered: () => counted(10_000, 90_000, receipt) })
    const { client } = payer()
    await client.topUp(agent, '$0.1')
    const result = await client.call(url)
    expect(result.warnings?.map(({ code }) => code)).toEqual(codes)
    expect(result.receipt !== undefined).toBe(isThere)
  })

  it('sends no key to an agent beside its own on one host, nor to another origin', async () => {
    const { agent, url } = await liar()
    const thief = (endpoint: string) =>
      market.seller((_, shop) =>
        quote({
          resource: { url: shop.seen[0]!.path },
          accepts: [shop.entry()],
          extensions: { 'svc-balance': { info: { endpoint } } },
        }),
      )
    const { client } = payer()
    await client.topUp(agent, '$0.1')
    await client.call(url)
    const other = await thief(`${agent}/balance`)
    await client.call(other.url).catch(() => {})
    const beside = await liar({
      quoted: (shop, origin) =>
        quote({
          accepts: [shop.entry()],
          extensions: { 'svc-balance': { info: { endpoint: `${origin}/a/balance` } } },
        }),
    })
    await client.topUp(`${beside.agent}/a`, '$0.1').catch(() => {})
    await client.call(beside.url).catch(() => {})
    const seen = [...other.seen, ...beside.seen]
    expect(seen.filter(({ headers }) => 'x-svc-balance-key' in headers)).toEqual([])
  })
})

describe('topping up', () => {
  it('is done once a call, and not again at a seller that never served a call on what it sold', async () => {
    const { agent, url, purchases } = await liar({ covered: () => short() })
    const { client, spent } = payer({ topUp: AGAIN })
    await client.topUp(agent, '$0.1')
    for (let calls = 0; calls < 4; calls++) expect((await client.call(url)).payment).toBeDefined()
    expect(purchases()).toBe(1)
    expect(spent()).toBe(100_000n + 4n * PRICE)
  })

  it('of a seller that says each time that nothing is left is one purchase a call, within the day', async () => {
    const { agent, url, purchases } = await liar({ covered: () => counted(0, 0) })
    const { client, spent } = payer({ topUp: AGAIN, maxPerDay: '$0.35' })
    await client.topUp(agent, '$0.1')
    for (let calls = 0; calls < 3; calls++) expect((await client.call(url)).charged).toBe('0')
    expect(purchases()).toBe(3)
    const last = await client.call(url)
    expect(last.payment).toBeDefined()
    expect(last.warnings).toMatchObject([{ code: 'top_up_failed' }])
    expect(spent()).toBe(300_000n + PRICE)
  })

  it('is not done where a call would cost more than is bought, nor where nothing was bought', async () => {
    const { agent, url, purchases } = await liar({ covered: () => short() })
    const { client } = payer({ topUp: { below: '$0.05', amount: '$0.005' } })
    await client.call(url)
    expect(purchases()).toBe(0)
    await client.topUp(agent, '$0.1')
    await client.call(url)
    expect(purchases()).toBe(1)
  })

  it.each([
    ['another process is at it', 'held'],
    ['another wallet’s was lost', 'cut'],
  ])('is not waited for where %s, by a call that can be paid for', async (_, how) => {
    const door = gate()
    let sales = 0
    const { agent, url } = await liar({
      covered: () => counted(10_000, 40_000),
      async sale(_, __, sold) {
        if (++sales === 1) return sold
        door.enter()
        if (how === 'held') await door.opened
        return how === 'held' ? sold : 'cut'
      },
    })
    const ledger = memorySpendLedger()
    const [one, other] = [payer({ ledger }), payer({ ledger, topUp: AGAIN })]
    await one.client.topUp(agent, '$0.1')
    await other.client.call(url)
    const bought = one.client.topUp(agent, '$0.1').catch(cause => cause)
    await door.entered()
    if (how === 'cut') expect(await bought).toMatchObject({ code: 'network_error' })
    const { charged, warnings } = await other.client.call(url)
    expect([charged, warnings]).toEqual(['10000', undefined])
    door.open()
    await bought
  })

  it('is told by the call that its caller ends meanwhile', async () => {
    const door = gate()
    let sales = 0
    const { agent, url } = await liar({
      covered: () => counted(10_000, 40_000),
      async sale(_, __, sold) {
        if (++sales === 2) {
          door.enter()
          await door.opened
        }
        return sold
      },
    })
    const { client } = payer({ topUp: AGAIN })
    await client.topUp(agent, '$0.1')
    await client.call(url)
    const cancel = new AbortController()
    const call = client.call(url, undefined, { signal: cancel.signal })
    await door.entered()
    cancel.abort()
    const { txId } = [...client.receipts].at(-1)!
    await expect(call).rejects.toMatchObject({ code: 'aborted', detail: { txId, charged: 'maybe' } })
    door.open()
  })

  it.each(['stream', 'fetch'] as const)(
    'by %s reads the answer to its purchase, whose connection would stay open',
    async how => {
      const { agent, url } = await liar({ covered: () => counted(10_000, 40_000) })
      const purchases: Response[] = []
      const fetchImpl: typeof fetch = async (to, init) => {
        const response = await fetch(to, init)
        if (String(to).endsWith('/balance') && response.ok) purchases.push(response)
        return response
      }
      const { client } = payer({ topUp: AGAIN, fetchImpl })
      await client.topUp(agent, '$0.1')
      await client.call(url)
      const { body } =
        how === 'stream' ? await client.stream(url) : await client.fetch(url, { method: 'POST' })
      await body!.cancel()
      expect(purchases.map(({ bodyUsed }) => bodyUsed)).toEqual([true, true])
    },
  )

  it('shows no key in what fails', async () => {
    const { agent, url } = await liar({ covered: () => failure(500, 'broken') })
    const { client } = payer()
    await client.topUp(agent, '$0.1')
    const error = await client.call(url).catch(cause => cause)
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain('svc_key')
  })
})
