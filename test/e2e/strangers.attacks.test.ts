/**
 * Callers who never pay, and callers who present what is not theirs: runs for nothing, floods of unfunded payments,
 * landed payments with guessed keys.
 */
import { generateAccount, secretKeyToMnemonic } from 'algosdk'
import { describe, expect, it } from 'vitest'
import { defineEndpoint, type ServeOptions } from '../../src/index.js'
import { gate, gated } from '../support/gate.js'
import { heldFacilitator } from '../support/held-facilitator.js'
import { ask, open, pay, type Seller, signFor } from '../support/seller.js'

const PRICE = 10_000n

function counted() {
  let runs = 0
  const endpoint = defineEndpoint({
    name: 'work',
    price: '$0.01',
    handler: async () => {
      await new Promise(resolve => setTimeout(resolve, 20))
      return { run: ++runs }
    },
  })
  return { endpoint, runs: () => runs }
}

const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc
const bodyOf = async (response: Response) =>
  (await response.json()) as { error?: { code: string; txId?: string } }

describe('runs on credit', () => {
  it('one payment that is hung up fifteen times runs the handler eight times', async () => {
    const door = gate()
    let runs = 0
    const endpoint = defineEndpoint({
      name: 'slow',
      price: '$0.01',
      handler: ({ signal }) => {
        runs++
        door.enter()
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('gone'))))
      },
    })
    const seller = await open([endpoint], { advanced: { timeouts: { creditMs: 50 } } })
    const payment = await signFor(seller, `${seller.url}/slow`)
    const codes: (string | undefined)[] = []
    for (let call = 1; call <= 15; call++) {
      const hangUp = new AbortController()
      const end = seller.nextEnded()
      const response = ask(`${seller.url}/slow`, { headers: payment, signal: hangUp.signal })
      const lost = response.then(bodyOf).catch(() => undefined)
      const first = await Promise.race([door.entered(call), end])
      if (first === undefined) hangUp.abort()
      codes.push((await lost)?.error?.code)
      await end
    }
    expect(runs).toBe(8)
    expect(codes.slice(8)).toEqual(Array(7).fill('too_many_unpaid_calls'))
    expect(received(seller)).toBe(0n)
  })

  it('a wallet of one cent has eight runs at once, and two more for the one that it pays, not twenty', async () => {
    const { endpoint, runs } = counted()
    const seller = await open([endpoint], { advanced: { timeouts: { creditMs: 300 } } })
    const poor = generateAccount()
    seller.sandbox.fund(String(poor.addr), { microAlgos: 1_000_000n, usdc: PRICE })
    const mnemonic = secretKeyToMnemonic(poor.sk)
    const payments = await Promise.all(
      Array.from({ length: 20 }, () => signFor(seller, `${seller.url}/work`, { mnemonic })),
    )
    const statuses = (await Promise.all(payments.map(headers => ask(`${seller.url}/work`, { headers })))).map(
      ({ status }) => status,
    )
    expect(statuses.filter(status => status === 200)).toHaveLength(1)
    // Eight on credit, and two more for the one that was paid for: its own comes back, and it earned another.
    expect(runs()).toBeLessThanOrEqual(10)
    expect(received(seller)).toBe(PRICE)
  })

  it('payments that end soon do not run a slow handler again and again', async () => {
    let runs = 0
    const endpoint = defineEndpoint({
      name: 'slow',
      price: '$0.01',
      handler: ({ signal }) => {
        runs++
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('cut'))))
      },
    })
    const seller = await open([endpoint], { advanced: { timeouts: { creditMs: 50 }, maxTimeoutSeconds: 12 } })
    const codes: number[] = []
    for (let round = 0; round < 3; round++) {
      const calls = Array.from({ length: 8 }, () => pay(seller, `${seller.url}/slow`))
      codes.push(...(await Promise.all(calls)).map(({ status }) => status))
    }
    expect(runs).toBe(8)
    expect(codes).toEqual([...Array(8).fill(402), ...Array(16).fill(429)])
    expect(received(seller)).toBe(0n)
  })

  it('an honest buyer of twenty at once is served, without a refusal', async () => {
    const { endpoint, runs } = counted()
    // A busy machine takes its time to serve those before.
    const seller = await open([endpoint], { advanced: { timeouts: { creditMs: 60_000 } } })
    const calls = Array.from({ length: 20 }, () => pay(seller, `${seller.url}/work`))
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect([runs(), received(seller)]).toEqual([20, 20n * PRICE])
  })

  it('failures of the seller take no credit, and each settled call earns', async () => {
    let fails = true
    const endpoint = defineEndpoint({
      name: 'work',
      price: '$0.01',
      handler: () => {
        if (fails) throw new Error('no')
        return 1
      },
    })
    const seller = await open([endpoint], {
      advanced: { credit: { start: 1, max: 2 }, timeouts: { creditMs: 50 } },
    })
    for (let call = 0; call < 5; call++) expect((await pay(seller, `${seller.url}/work`)).status).toBe(500)
    fails = false
    for (let call = 0; call < 3; call++) expect((await pay(seller, `${seller.url}/work`)).status).toBe(200)
    seller.sandbox.faults.set('settle', 'refuse')
    const refused = async () => (await pay(seller, `${seller.url}/work`)).status
    expect([await refused(), await refused(), await refused()]).toEqual([402, 402, 429])
  })

  it('one payer’s runs take nothing from another’s', async () => {
    const slow = gated()
    const seller = await open([slow.endpoint], {
      advanced: { credit: { start: 1 }, timeouts: { creditMs: 50 } },
    })
    const first = pay(seller, `${seller.url}/slow`)
    await slow.entered()
    const second = pay(seller, `${seller.url}/slow`, { account: 'other' })
    await slow.entered(2)
    expect((await pay(seller, `${seller.url}/slow`)).status).toBe(429)
    slow.open()
    expect([(await first).status, (await second).status]).toEqual([200, 200])
  })

  it('false sets no bound, and what is no credit is refused at start', async () => {
    const slow = gated()
    const seller = await open([slow.endpoint], { advanced: { credit: false } })
    const calls = Array.from({ length: 12 }, () => pay(seller, `${seller.url}/slow`))
    await slow.entered(12)
    slow.open()
    expect((await Promise.all(calls)).every(({ status }) => status === 200)).toBe(true)
    for (const credit of [{ start: 0 }, { start: 1.5 }, { start: 9, max: 8 }, { idleMs: -1 }]) {
      await expect(open([slow.endpoint], { advanced: { credit } })).rejects.toMatchObject({
        code: 'invalid_options',
      })
    }
  })

  it('where the store of credit is down, no handler runs', async () => {
    const { endpoint, runs } = counted()
    const down = async () => Promise.reject(new Error('down'))
    const seller = await open([endpoint], { stores: { credit: { take: down, peek: down, giveBack: down } } })
    const response = await pay(seller, `${seller.url}/work`)
    expect([response.status, (await bodyOf(response)).error?.code]).toEqual([503, 'store_unavailable'])
    expect([runs(), received(seller)]).toEqual([0, 0n])
  })
})

describe('a flood of payments without money', () => {
  /** Signed by as many fresh keys, none of which has any USDC. */
  const unfunded = (seller: Seller, url: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        signFor(seller, url, { mnemonic: secretKeyToMnemonic(generateAccount().sk) }),
      ),
    )

  it('pushes no paid answer out of memory', async () => {
    const { endpoint, runs } = counted()
    const seller = await open([endpoint], { idempotency: { max: 20 } })
    const key = { 'idempotency-key': 'a-random-key-that-cannot-be-guessed' }
    const url = `${seller.url}/work`
    expect((await pay(seller, url, { headers: key })).status).toBe(200)
    for (const [at, payment] of (await unfunded(seller, url, 40)).entries()) {
      const headers = { ...payment, 'idempotency-key': `flooding-key-${at}-of-many` }
      expect((await ask(url, { headers })).status).toBe(402)
    }
    const again = await pay(seller, url, { headers: key })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect([runs(), received(seller)]).toEqual([1, PRICE])
  })

  it('is bounded for each address where payers are limited, and leaves verified payers alone', async () => {
    const { endpoint } = counted()
    const facilitator = heldFacilitator()
    const seller = await open([endpoint], {
      facilitatorUrl: await facilitator.url,
      rateLimit: { perMinute: 5 },
      trustProxy: 1,
    })
    facilitator.serves(seller.sandbox)
    const url = `${seller.url}/work`
    const signed = await unfunded(seller, url, 20)
    const from = (payment: object) => ({ headers: { ...payment, 'x-forwarded-for': '203.0.113.7' } })
    const answers = await Promise.all(signed.map(payment => ask(url, from(payment))))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter(status => status === 402)).toHaveLength(5)
    expect(statuses.filter(status => status === 429)).toHaveLength(15)
    expect(facilitator.count('/verify')).toBe(5)
    // From another address a payer with money is served as often as the limit says, and then not verified any more.
    const paid = []
    for (let call = 0; call < 7; call++) paid.push((await pay(seller, url)).status)
    expect(paid).toEqual([200, 200, 200, 200, 200, 429, 429])
    expect(facilitator.count('/verify')).toBe(10)
  })
})

describe('payments that landed are public', () => {
  const SHORT = 'order-1'
  const LONG = 'order-1-and-32-random-characters'

  async function sold(options: Partial<ServeOptions> = {}) {
    const { endpoint, runs } = counted()
    const window = defineEndpoint({
      name: 'window',
      subscription: { price: '$0.01', period: '1h' },
      handler: () => ({ secret: 1 }),
    })
    const seller = await open([endpoint, window], { idempotency: {}, ...options })
    return { seller, runs, url: `${seller.url}/window` }
  }

  it('with a key that can be guessed they open nothing, and do not tell which keys exist', async () => {
    const { seller, url } = await sold()
    const payment = await signFor(seller, url)
    expect((await ask(url, { headers: { ...payment, 'idempotency-key': SHORT } })).status).toBe(200)
    const told = []
    for (const key of [SHORT, 'order-2']) {
      for (const body of [undefined, { other: true }]) {
        const answer = await ask(url, { headers: { ...payment, 'idempotency-key': key }, body })
        expect(answer.headers.get('x-svc-subscription')).toBeNull()
        told.push([answer.status, await answer.json()])
      }
    }
    for (const one of told) expect(one).toEqual(told[0])
    expect(told[0]).toMatchObject([409, { error: { code: 'payment_spent', txId: expect.any(String) } }])
    // A payment of one's own that is fresh proves its payer: the answer is replayed, and it is not charged.
    const again = await pay(seller, url, { headers: { 'idempotency-key': SHORT } })
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
    expect(received(seller)).toBe(PRICE)
  })

  it('with a key that cannot be guessed their payer gets the answer again', async () => {
    const { seller, url } = await sold()
    const headers = { ...(await signFor(seller, url)), 'idempotency-key': LONG }
    const first = await ask(url, { headers })
    const again = await ask(url, { headers })
    expect(again.headers.get('x-svc-subscription')).toBe(first.headers.get('x-svc-subscription'))
    expect(received(seller)).toBe(PRICE)
  })

  it('where the node does not answer, a key that can be guessed and was used is refused for now, and a random one is not', async () => {
    const { seller } = await sold()
    const deaf = await seller.replica({ algodUrl: 'http://127.0.0.1:1' })
    const shortly = () => pay(deaf, `${deaf.url}/work`, { headers: { 'idempotency-key': 'order-7' } })
    expect((await shortly()).status).toBe(200)
    // Now an answer lies under it, and the payer may be anybody who has seen this payment land.
    const short = await shortly()
    expect([short.status, (await bodyOf(short)).error?.code]).toEqual([503, 'node_unavailable'])
    expect((await pay(deaf, `${deaf.url}/work`, { headers: { 'idempotency-key': LONG } })).status).toBe(200)
    await deaf.close()
  })

  it('replayed by a stranger, they use up nothing of their payer’s rate limit', async () => {
    const { seller } = await sold({ rateLimit: { perMinute: 3 }, trustProxy: 1 })
    const url = `${seller.url}/work`
    const landed = await signFor(seller, url)
    expect((await ask(url, { headers: landed })).status).toBe(200)
    const stranger = { ...landed, 'x-forwarded-for': '203.0.113.9' }
    for (let call = 0; call < 6; call++)
      expect([409, 429]).toContain((await ask(url, { headers: stranger })).status)
    expect([(await pay(seller, url)).status, (await pay(seller, url)).status]).toEqual([200, 200])
    expect((await pay(seller, url)).status).toBe(429)
  })
})
