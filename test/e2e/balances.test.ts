/** Balances over real HTTP: what is bought, what calls take, what failures cost, and what the ledger shows. */
import { describe, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import {
  defineEndpoint,
  type EndpointDef,
  type HandlerContext,
  type ServeOptions,
  SvcError,
} from '../../src/index.js'
import type { ChargeStore, UnitsChargeStore } from '../../src/ports/charge-store.js'
import { gate } from '../support/gate.js'
import { type Ask, ask, challengeIn, open, pay, type Seller } from '../support/seller.js'

const received = ({ sandbox }: Seller) => sandbox.balance(sandbox.seller.address).usdc
const number = ({ headers }: Response, name: string) => {
  const value = headers.get(name)
  return value === null ? null : Number(value)
}
const charged = (response: Response) => number(response, 'x-svc-charged')
const codeOf = async (response: Response) => (await jsonOf(response)).error.code
const left = (response: Response) => number(response, 'x-svc-balance')
const reserved = (response: Response) => number(response, 'x-svc-reserved')

// biome-ignore lint/suspicious/noExplicitAny: a test reads documents of any shape
const jsonOf = async (response: Response | Promise<Response>): Promise<any> => (await response).json()

interface Work {
  readonly does?: string
  readonly costs?: unknown
}

/** A call costs at most a cent, and does what its body says; it has long where none shall take too long. */
function metered(timeout = 60_000) {
  const door = gate()
  let runs = 0
  let late: ((usd: string) => void) | undefined
  const endpoint = defineEndpoint({
    name: 'metered',
    price: '$0.01',
    timeout,
    async handler({ body, charge }: HandlerContext) {
      runs++
      late = charge
      const { does, costs } = body as Work
      for (const cost of [costs].flat()) if (cost !== undefined) charge(cost as string)
      if (does === 'fail') throw new SvcError('not today', 'not_today', 422)
      if (does === 'hang') await new Promise(() => {})
      if (does === 'wait') {
        door.enter()
        await door.opened
      }
      if (does === 'swallow') {
        try {
          charge('$5')
        } catch {
          // The call must fail all the same.
        }
      }
      return { runs }
    },
  })
  return { endpoint, door, runs: () => runs, late: () => late! }
}

const BALANCE = { amounts: ['$1', '$0.02'], period: '1h' }

async function opened(endpoints: readonly EndpointDef[], options: Partial<ServeOptions> = {}) {
  return open(endpoints, { ...options, about: { balance: BALANCE } })
}

let keys = 0
const newKey = () => `balance-test-key-${keys++}-of-32-characters`

/** Buys a balance; calls take from it. */
async function bought(seller: Seller, amount = '$0.02') {
  const sale = await pay(seller, `${seller.url}/balance`, { body: { amount } })
  expect(sale.status).toBe(200)
  const key = sale.headers.get('x-svc-balance-key')!
  expect(key).toMatch(/^svc_/)
  const call = ({ at = 'metered', of = seller, ...request }: Ask & { at?: string; of?: Seller } = {}) =>
    ask(`${of.url}/${at}`, {
      body: {},
      ...request,
      headers: { 'x-svc-balance-key': key, 'idempotency-key': newKey(), ...request.headers },
    })
  return { sale, key, call }
}

describe('a balance', () => {
  it('is bought once, and calls take from it what their handlers say', async () => {
    const { endpoint } = metered()
    const seller = await opened([endpoint])
    const { sale, call } = await bought(seller)
    expect(await sale.json()).toMatchObject({ balance: '20000' })
    expect(Date.parse(sale.headers.get('x-svc-balance-expires')!)).toBeGreaterThan(Date.now() + 3_500_000)
    expect(received(seller)).toBe(20_000n)
    const cheap = await call({ body: { costs: '$0.0031' } })
    expect([cheap.status, charged(cheap), left(cheap)]).toEqual([200, 3_100, 16_900])
    const full = await call()
    expect([full.status, charged(full), left(full)]).toEqual([200, 10_000, 6_900])
    const refused = await call()
    expect([refused.status, left(refused), reserved(refused)]).toEqual([402, 6_900, 0])
    expect(challengeIn(refused).accepts[0]!.amount).toBe('10000')
    expect(challengeIn(refused).error).toMatch(/does not suffice: \$0\.0069 can be taken/)
    expect(received(seller)).toBe(20_000n)
    expect(seller.ended.map(({ final, charged: how }) => [final, how])).toEqual([
      ['quoted', 'no'],
      ['settled', 'yes'],
      ['counted', 'balance'],
      ['counted', 'balance'],
      ['quoted', 'no'],
    ])
  })

  it('gives a receipt that names the balance, the call, the charge and what is left', async () => {
    const { endpoint } = metered()
    const seller = await opened([endpoint])
    const { call, key } = await bought(seller)
    const { headers } = await call({ body: { costs: '$0.001' } })
    const receipt = JSON.parse(Buffer.from(headers.get('x-svc-receipt')!, 'base64').toString())
    expect(receipt).toEqual({
      balance: expect.stringMatching(/^[\w-]{43}$/),
      call: seller.ended.at(-1)!.traceId,
      charged: 1_000,
      left: 19_000,
    })
    expect(JSON.stringify(receipt)).not.toContain(key)
  })

  it('costs nothing where the call fails, takes too long or its caller goes', async () => {
    const { endpoint, door } = metered()
    const hurried = { ...metered(1_000).endpoint, name: 'hurried' }
    const seller = await opened([endpoint, hurried])
    const { call } = await bought(seller)
    expect((await call({ body: { does: 'fail' } })).status).toBe(422)
    expect((await call({ at: 'hurried', body: { does: 'hang' } })).status).toBe(504)
    const hangUp = new AbortController()
    const gone = call({ body: { does: 'wait' }, signal: hangUp.signal })
    await door.entered()
    hangUp.abort()
    await expect(gone).rejects.toThrow()
    await expect.poll(() => seller.ended.at(-1)?.final).toBe('abandoned')
    const delivered = await call()
    expect([delivered.status, left(delivered)]).toEqual([200, 10_000])
  })

  it.each([
    ['negative', '-$1'],
    ['NaN', 'NaN'],
    ['a number', 0.001],
    ['huge', '1e30'],
    ['above the price', '$0.010001'],
    ['wrong after it was right', ['$0.001', '$7']],
  ])('is not charged where what the handler says of the cost is %s', async (_, costs) => {
    const { endpoint } = metered()
    const seller = await opened([endpoint])
    const { call } = await bought(seller)
    expect((await call({ body: { costs } })).status).toBe(500)
    const next = await call({ body: { costs: '$0' } })
    expect([charged(next), left(next)]).toEqual([0, 20_000])
  })

  it('fails the call also where the handler caught what charge threw', async () => {
    const { endpoint } = metered()
    const seller = await opened([endpoint])
    const { call } = await bought(seller)
    expect((await call({ body: { does: 'swallow' } })).status).toBe(500)
    expect(left(await call({ body: { costs: '$0' } }))).toBe(20_000)
  })

  it('counts the last of what the handler says, and rounds up what is below a base unit', async () => {
    const { endpoint, late } = metered()
    const seller = await opened([endpoint])
    const { call } = await bought(seller)
    expect(charged(await call({ body: { costs: ['$0.009', '$0.0000011'] } }))).toBe(2)
    expect(() => late()('$0.001')).toThrow(/after the call was charged/)
    expect(left(await call({ body: { costs: '$0' } }))).toBe(19_998)
  })

  it('replays under one key, and takes once', async () => {
    const { endpoint, runs } = metered()
    const seller = await opened([endpoint])
    const { call } = await bought(seller)
    const headers = { 'idempotency-key': newKey() }
    const first = await call({ headers, body: { costs: '$0.002' } })
    const again = await call({ headers, body: { costs: '$0.002' } })
    expect(await again.json()).toEqual(await first.json())
    expect([again.headers.get('idempotency-replayed'), charged(again)]).toEqual(['true', 2_000])
    expect((await call({ headers, body: { costs: '$0.003' } })).status).toBe(409)
    expect(runs()).toBe(1)
    expect(left(await call({ body: { costs: '$0' } }))).toBe(18_000)
  })

  it('needs a key, takes no payment beside it, and no more than was agreed', async () => {
    const { endpoint, runs } = metered()
    const seller = await opened([endpoint])
    const { call, key } = await bought(seller)
    const bare = await ask(`${seller.url}/metered`, { body: {}, headers: { 'x-svc-balance-key': key } })
    expect([bare.status, await codeOf(bare)]).toEqual([400, 'idempotency_key_required'])
    const both = await pay(seller, `${seller.url}/metered`, {
      body: {},
      headers: { 'x-svc-balance-key': key, 'idempotency-key': newKey() },
    })
    expect([both.status, await codeOf(both)]).toEqual([400, 'payment_and_balance'])
    const wrong = await call({ headers: { 'x-svc-max-charge': '$1' } })
    expect([wrong.status, await codeOf(wrong)]).toEqual([400, 'invalid_max_charge'])
    const above = await call({ headers: { 'x-svc-max-charge': '9999' } })
    expect([above.status, challengeIn(above).error]).toEqual([
      402,
      expect.stringMatching(/more than x-svc-max-charge/),
    ])
    expect(runs()).toBe(0)
    const agreed = await call({ headers: { 'x-svc-max-charge': '10000' } })
    expect([agreed.status, left(agreed)]).toEqual([200, 10_000])
    expect(received(seller)).toBe(20_000n)
  })

  it('of two calls at once, the last cent goes to one', async () => {
    const { endpoint, door } = metered()
    const seller = await opened([endpoint])
    const { call } = await bought(seller)
    await call()
    const first = call({ body: { does: 'wait' } })
    await door.entered()
    const second = await call()
    expect([second.status, left(second), reserved(second)]).toEqual([402, 0, 10_000])
    door.open()
    expect([(await first).status, left(await first)]).toEqual([200, 0])
  })

  it('opens nothing for a stranger, nor at another agent of the seller', async () => {
    const { endpoint } = metered()
    const seller = await opened([endpoint])
    const { call, key } = await bought(seller)
    const guessed = await call({ headers: { 'x-svc-balance-key': `${key}x` } })
    expect([guessed.status, left(guessed)]).toEqual([402, null])
    const other = await open([endpoint], {
      sandbox: seller.sandbox,
      about: { handle: 'other-agent', balance: BALANCE },
    })
    expect((await call({ of: other })).status).toBe(402)
    expect(left(await call({ body: { costs: '$0' } }))).toBe(20_000)
  })

  it('pays for no window and no balance', async () => {
    const window = defineEndpoint({
      name: 'window',
      subscription: { price: '$0.01', period: '1h' },
      handler: () => ({ open: true }),
    })
    const seller = await opened([window])
    const { call } = await bought(seller)
    expect((await call({ at: 'window' })).status).toBe(402)
    expect((await call({ at: 'balance', body: { amount: '$0.02' } })).status).toBe(402)
  })

  it('is refused by an endpoint that says so, and is all that another one takes', async () => {
    const never = defineEndpoint({ name: 'never', price: '$0.01', balance: false, handler: () => 1 })
    const only = defineEndpoint({
      name: 'only',
      price: '$0.01',
      only: 'balance',
      handler: () => ({ ok: true }),
    })
    const seller = await opened([never, only])
    const { call } = await bought(seller)
    expect((await call({ at: 'never' })).status).toBe(402)
    const quote = challengeIn(await ask(`${seller.url}/only`, { body: {} }))
    expect(quote.resource.url).toBe(`${seller.url}/balance`)
    expect(quote.accepts[0]!.amount).toBe('20000')
    expect(quote.extensions?.['svc-balance']).toMatchObject({ info: { only: true, price: '10000' } })
    const before = received(seller)
    const paid = await pay(seller, `${seller.url}/only`, { body: {} })
    expect([paid.status, challengeIn(paid).error]).toEqual([
      402,
      expect.stringMatching(/Only a balance pays/),
    ])
    expect(received(seller)).toBe(before)
    expect((await call({ at: 'only' })).status).toBe(200)
  })

  it('is quoted beside the price of the call, where it is all that an endpoint takes', async () => {
    const price = ({ body }: { body: unknown }) => `$0.00${(body as { n?: number }).n ?? 1}`
    const grow = defineEndpoint({ name: 'grow', price, only: 'balance', handler: () => 1 })
    const free = defineEndpoint({ name: 'free', price: '$0.01', handler: () => 1 })
    const seller = await opened([grow, free])
    const { call } = await bought(seller)
    const offered = (answer: Response) => {
      const { accepts, extensions } = challengeIn(answer)
      const { info } = extensions!['svc-balance'] as { info: { price?: string } }
      return [[...new Set(accepts.map(({ amount }) => amount))], info.price]
    }
    expect(offered(await ask(`${seller.url}/grow`, { body: { n: 7 } }))).toEqual([['20000'], '7000'])
    expect(offered(await ask(`${seller.url}/grow`))).toEqual([['20000'], '1000'])
    const refused = await call({ at: 'grow', body: { n: 3 }, headers: { 'x-svc-max-charge': '2999' } })
    expect(offered(refused)).toEqual([['20000'], '3000'])
    expect(refused.headers.get('vary')).toMatch(/X-SVC-BALANCE-KEY/)
    expect(offered(await ask(`${seller.url}/free`, { body: {} }))).toEqual([['10000'], undefined])
  })

  it('takes the price that a function gives for the input', async () => {
    const endpoint = defineEndpoint({
      name: 'words',
      price: ({ body }) => `$0.00${(body as { n?: number }).n ?? 1}`,
      handler: () => ({ ok: true }),
    })
    const seller = await opened([endpoint])
    const { call } = await bought(seller)
    const taken = await call({ at: 'words', body: { n: 5 } })
    expect([taken.status, charged(taken), left(taken)]).toEqual([200, 5_000, 15_000])
    const broken = await call({ at: 'words', body: { n: 'x' } })
    expect(broken.status).toBe(500)
    expect(left(await call({ at: 'words', body: { n: 1 } }))).toBe(14_000)
  })

  it('is named in quotes and in every document', async () => {
    const { endpoint } = metered()
    const seller = await opened([endpoint])
    const quote = challengeIn(await ask(`${seller.url}/metered`, { body: {} }))
    expect(quote.extensions?.['svc-balance']).toMatchObject({
      info: {
        endpoint: `${seller.url}/balance`,
        header: 'x-svc-balance-key',
        amounts: ['20000', '1000000'],
        period: '1h',
      },
    })
    const manifest = await jsonOf(fetch(`${seller.url}/.well-known/svc.json`))
    expect(manifest.balance).toEqual({
      endpoint: 'balance',
      amounts: ['$0.02', '$1.00'],
      period: '1h',
      header: 'x-svc-balance-key',
    })
    expect(manifest.endpoints.map(({ name, pricing }: Record<string, string>) => [name, pricing])).toEqual([
      ['metered', 'fixed'],
      ['balance', 'dynamic'],
    ])
    const openapi = await jsonOf(fetch(`${seller.url}/openapi.json`))
    expect(JSON.stringify(openapi.paths['/metered'])).toContain('parameters/balanceKey')
  })
})

describe('a stream on a balance', () => {
  function streaming() {
    const door = gate()
    const endpoint = defineEndpoint({
      name: 'stream',
      price: '$0.01',
      stream: true,
      async *handler({ body, charge }: HandlerContext) {
        yield { n: 1 }
        const { does } = body as Work
        if (does === 'break') throw new Error('broken')
        if (does === 'wait') {
          charge('$0.004')
          door.enter()
          await door.opened
        }
        charge('$0.002')
        yield { n: 2 }
      },
    })
    return { endpoint, door }
  }

  it('costs what its handler says before its end', async () => {
    const { endpoint } = streaming()
    const { endpoint: look } = metered()
    const seller = await opened([endpoint, look])
    const { call } = await bought(seller)
    const answer = await call({ at: 'stream' })
    expect([answer.status, reserved(answer)]).toEqual([200, 10_000])
    expect(await answer.text()).toContain('{"n":2}')
    await expect.poll(async () => left(await call({ body: { costs: '$0' } }))).toBe(18_000)
    expect(seller.ended.find(run => run.endpoint === 'stream')).toMatchObject({
      charged: 'balance',
      units: { used: 2_000 },
    })
  })

  it('costs nothing where its seller breaks it, and what was said where its buyer does', async () => {
    const { endpoint, door } = streaming()
    const { endpoint: look } = metered()
    const told: string[] = []
    const warn = (_: object, message: string) => void told.push(message)
    const seller = await opened([endpoint, look], { logger: { debug() {}, info() {}, warn, error() {} } })
    const { call } = await bought(seller)
    const broken = await call({ at: 'stream', body: { does: 'break' } })
    await expect(broken.text()).rejects.toThrow()
    await expect.poll(async () => left(await call({ body: { costs: '$0' } }))).toBe(20_000)
    const hangUp = new AbortController()
    const headers = { 'idempotency-key': newKey() }
    const cut = await call({ at: 'stream', headers, body: { does: 'wait' }, signal: hangUp.signal })
    await door.entered()
    hangUp.abort()
    await expect(cut.text()).rejects.toThrow()
    await expect.poll(async () => left(await call({ body: { costs: '$0' } }))).toBe(16_000)
    const again = await call({ at: 'stream', headers, body: { does: 'wait' } })
    expect([again.status, await codeOf(again), charged(again)]).toEqual([409, 'answer_not_kept', 4_000])
    expect(told.filter(message => message.startsWith('a stream'))).toEqual([
      'a stream broke; it takes nothing',
      'a stream broke; it stays charged',
    ])
  })
})

describe('a balance whose store fails', () => {
  function failing(store: UnitsChargeStore) {
    const lost = { answers: 0, moves: 0 }
    return {
      lost,
      store: {
        ...store,
        async count(move) {
          if (lost.moves > 0) {
            lost.moves--
            throw new Error('no store')
          }
          const counted = await store.count(move)
          if (lost.answers === 0) return counted
          lost.answers--
          throw new Error('the answer was lost')
        },
      } satisfies ChargeStore,
    }
  }

  it('counts once, whether the move or its answer was lost', async () => {
    const { endpoint, runs } = metered()
    const { store, lost } = failing(memoryChargeStore())
    const seller = await opened([endpoint], { stores: { charges: store } })
    const { call } = await bought(seller)
    lost.answers = 1
    expect(left(await call({ body: { costs: '$0.001' } }))).toBe(19_000)
    lost.moves = 1
    expect(left(await call({ body: { costs: '$0.001' } }))).toBe(18_000)
    expect(runs()).toBe(2)
  })

  it('says that it does not know, keeps the answer, and replays it to the same key', async () => {
    const { endpoint, runs } = metered()
    const { store, lost } = failing(memoryChargeStore())
    const seller = await opened([endpoint], {
      stores: { charges: store },
      advanced: { timeouts: { certaintyMs: 1 } },
    })
    const { call } = await bought(seller)
    lost.answers = 1
    const headers = { 'idempotency-key': newKey() }
    const unsure = await call({ headers, body: { costs: '$0.001' } })
    expect([unsure.status, await codeOf(unsure)]).toEqual([503, 'charge_unknown'])
    const again = await call({ headers, body: { costs: '$0.001' } })
    expect([again.status, charged(again), runs()]).toEqual([200, 1_000, 1])
    expect(left(await call({ body: { costs: '$0' } }))).toBe(19_000)
  })
})
