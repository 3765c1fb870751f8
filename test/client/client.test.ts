/** What honest callers and sellers may rely on. */
import { inspect } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import {
  ALGORAND_MAINNET,
  ALGORAND_TESTNET,
  CAIP2,
  priceOf,
  SvcClient,
  SvcError,
  USDC_ASSET_ID,
} from '../../src/client.js'
import vectors from '../vectors/payments.json' with { type: 'json' }
import { ANSWER, failure, honest, marketForFile, PRICE, PRICE_USD, type Script, type Shop } from './market.js'

const market = marketForFile()

describe('quote', () => {
  for (const vector of vectors.payments) {
    it(`reads ${vector.name}`, async () => {
      const headers = { 'PAYMENT-REQUIRED': vector.paymentRequiredHeader }
      const seller = await market.seller(() => ({ status: 402, headers, body: '{}' }))
      const quote = await new SvcClient().quote(seller.url, { text: 'x' })
      expect(quote).toEqual({ paymentRequired: true, status: 402, requirements: vector.paymentRequired })
      expect(priceOf(quote.requirements)).toBe(PRICE_USD)
      expect(new SvcClient().priceOf(quote.requirements?.accepts)).toBe(PRICE_USD)
    })
  }

  it('tells what else was answered', async () => {
    const seller = await market.seller(() => ANSWER)
    expect(await new SvcClient().quote(seller.url)).toEqual({ paymentRequired: false, status: 200 })
    const refusing = await market.seller(() => failure(400, 'invalid_input'))
    const refused = { paymentRequired: false, status: 400, reason: 'It is invalid_input' }
    expect(await new SvcClient().quote(refusing.url)).toEqual(refused)
  })

  it('sends JSON where there is a body, and none where there is not', async () => {
    const seller = await market.seller(honest)
    await new SvcClient().quote(seller.url, { text: 'ä' })
    await new SvcClient().quote(seller.url)
    expect(seller.seen[0]).toMatchObject({
      method: 'POST',
      body: '{"text":"ä"}',
      headers: { 'content-type': 'application/json' },
    })
    expect(seller.seen[1]?.body).toBe('')
    expect(seller.seen[1]?.headers).not.toHaveProperty('content-type')
  })

  it('asks a GET endpoint by GET', async () => {
    const seller = await market.seller((seen, shop) =>
      seen.method === 'GET' ? shop.challenge(shop.entry()) : { status: 405, headers: { allow: 'GET, HEAD' } },
    )
    expect(await new SvcClient().quote(seller.url)).toMatchObject({ paymentRequired: true })
  })

  it('says when nothing answers', async () => {
    const client = new SvcClient({ retry: false })
    await expect(client.quote('http://127.0.0.1:1/work')).rejects.toMatchObject({ code: 'network_error' })
  })
})

describe('call', () => {
  it.each(['payment-signature', 'X-PAYMENT'])(
    'sends no %s of its caller, which no limit would count',
    async name => {
      const { client, spent } = market.payer()
      const seller = await market.seller(honest)
      const options = { headers: { [name]: 'e30=' } }
      const asked = await Promise.allSettled([
        client.call(seller.url, {}, options),
        client.quote(seller.url, {}, options),
        client.stream(seller.url, {}, options),
        client.estimate(seller.url, {}, options),
        client.subscribe(seller.url, {}, options),
      ])
      for (const { reason } of asked as PromiseRejectedResult[]) expect(reason.code).toBe('invalid_request')
      expect(seller.seen).toEqual([])
      expect(spent()).toBe(0n)
    },
  )

  it('pays once and hands data, receipt and status over', async () => {
    const { client, address, spent } = market.payer()
    const seller = await market.seller(honest)
    const result = await client.call(seller.url, { text: 'x' }, { headers: { 'x-trace': 't1' } })
    const landed = market.sandbox.transactions().find(({ sender }) => sender === address)
    expect(result).toEqual({
      data: { done: true },
      payment: { txId: landed?.txId, amount: '10000', usd: PRICE_USD, asset: '10458941' },
      status: 200,
      attempts: 1,
    })
    expect(spent()).toBe(PRICE)
    expect(seller.seen.map(({ body }) => body)).toEqual(['{"text":"x"}', '{"text":"x"}'])
    expect(seller.seen.map(({ headers }) => headers['x-trace'])).toEqual(['t1', 't1'])
  })

  it('pays by the long form of the network, echoing it', async () => {
    const { client, spent } = market.payer()
    const network = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI='
    const seller = await market.seller((seen, shop) =>
      seen.payment
        ? shop.sell(seen.payment)
        : shop.challenge(shop.entry({ network, extra: { feePayer: market.sandbox.feePayer, note: 1 } })),
    )
    await client.call(seller.url, {})
    const { accepted } = JSON.parse(Buffer.from(seller.paid()[0]!.payment!, 'base64').toString())
    expect(accepted).toMatchObject({ network, extra: { note: 1 } })
    expect(spent()).toBe(PRICE)
  })

  it('50 at once are 50 payments', async () => {
    const { client, spent } = market.payer()
    const seller = await market.seller(honest)
    const results = await Promise.all(Array.from({ length: 50 }, () => client.call(seller.url, {})))
    expect(new Set(results.map(({ payment }) => payment?.txId)).size).toBe(50)
    expect(spent()).toBe(50n * PRICE)
    expect(client.spentToday).toBe(0.5)
  })

  it('pays nothing for what is free', async () => {
    const { client, spent } = market.payer()
    const seller = await market.seller(() => ANSWER)
    expect(await client.call(seller.url, {})).toEqual({ data: { done: true }, status: 200, attempts: 1 })
    expect(spent()).toBe(0n)
  })

  it('pays a GET endpoint by GET', async () => {
    const { client, spent } = market.payer()
    const seller = await market.seller((seen, shop) =>
      seen.method === 'GET' ? honest(seen, shop) : { status: 405, headers: { allow: 'GET' } },
    )
    expect((await client.call(`${seller.url}?q=1`)).data).toEqual({ done: true })
    expect(seller.paid()).toMatchObject([{ method: 'GET', path: '/work?q=1' }])
    expect(spent()).toBe(PRICE)
  })

  it('does not turn a call with a body into a GET', async () => {
    const { client } = market.payer()
    const seller = await market.seller(() => ({ status: 405, headers: { allow: 'GET' } }))
    await expect(client.call(seller.url, {})).rejects.toMatchObject({ code: 'call_failed', status: 405 })
    expect(seller.seen).toHaveLength(1)
  })

  it('sends the caller’s idempotency key', async () => {
    const { client } = market.payer()
    const seller = await market.seller(honest)
    await client.call(seller.url, {}, { idempotencyKey: 'order-7' })
    expect(seller.paid()[0]?.headers['idempotency-key']).toBe('order-7')
  })

  const WESTERN = new Uint8Array([...'stra'].map(char => char.charCodeAt(0)).concat(0xdf, 0x65))
  const QUOTED = new Uint8Array([0x22, 0xdf, 0x22])
  const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  const bodies: [string, Record<string, string>, string | Uint8Array, unknown, boolean][] = [
    ['JSON', { 'content-type': 'application/json; charset=utf-8' }, '{"a":[1]}', { a: [1] }, false],
    ['problem JSON', { 'content-type': 'application/vnd.x+json' }, '[]', [], false],
    ['broken JSON', { 'content-type': 'application/json' }, '{"a":', '{"a":', true],
    ['JSON that nests too deep', { 'content-type': 'application/json' }, deep(513), deep(513), true],
    ['text', { 'content-type': 'text/plain' }, 'straße', 'straße', false],
    [
      'text of another charset',
      { 'content-type': 'text/csv; charset="windows-1252"' },
      WESTERN,
      'straße',
      false,
    ],
    [
      'text of a charset that is none',
      { 'content-type': 'text/plain; charset=klingon' },
      WESTERN,
      WESTERN,
      false,
    ],
    ['text that is not of its charset', { 'content-type': 'text/plain' }, WESTERN, WESTERN, false],
    ['JSON of another charset', { 'content-type': 'application/json; charset=latin1' }, QUOTED, 'ß', false],
    ['JSON that is no text', { 'content-type': 'application/json' }, QUOTED, QUOTED, true],
    ['bytes', { 'content-type': 'image/png' }, new Uint8Array([0, 255]), new Uint8Array([0, 255]), false],
    ['nothing', {}, '', null, false],
  ]
  for (const [name, headers, body, data, unreadable] of bodies) {
    it(`reads ${name}`, async () => {
      const { client } = market.payer()
      const result = await client.call((await market.seller(() => ({ status: 200, headers, body }))).url, {})
      expect(result.data).toEqual(data)
      expect(result.warnings?.map(({ code }) => code)).toEqual(unreadable ? ['body_unreadable'] : undefined)
    })
  }
})

describe('what fails', () => {
  it('has the status and the body in its detail', async () => {
    const { client } = market.payer()
    const seller = await market.seller(() => failure(404, 'not_found'))
    const error: unknown = await client.call(seller.url, {}).catch(reason => reason)
    expect(error).toBeInstanceOf(SvcError)
    expect(error).toMatchObject({
      code: 'call_failed',
      status: 404,
      detail: { status: 404, body: { error: { code: 'not_found', message: 'It is not_found' } } },
    })
  })

  it.each([
    [{ error: 'no such city' }, ': no such city'],
    [{ detail: 'no such city', title: 'Not Found' }, ': no such city'],
    [{ statusCode: 400, error: 'Bad Request', message: 'body/city is missing' }, ': body/city is missing'],
    [{ error: { text: 'no such city' } }, ''],
  ])('says what a server behind a gate answers, in its own form: %j', async (body, said) => {
    const { client } = market.payer()
    const seller = await market.seller(() => ({ status: 400, body: JSON.stringify(body) }))
    const { message } = (await client
      .call(seller.url, {})
      .catch((error: SvcError) => error as Error)) as Error
    expect(message).toBe(`${new URL(seller.url).origin} answered 400${said}`)
  })

  it('holds little of what a seller writes: 2,000 characters of its reason, a JSON body of 65,536', async () => {
    const { client } = market.payer()
    const failed = async (length: number) => {
      const seller = await market.seller(() => failure(404, 'not_found', {}, { message: 'x'.repeat(length) }))
      return client.call(seller.url, {}).catch((error: SvcError) => error) as Promise<SvcError>
    }
    const { message, detail } = await failed(1_000_000)
    expect(message.length).toBeLessThan(2_100)
    expect(JSON.stringify(detail).length).toBeLessThan(4_200)
    expect((await failed(60_000)).detail).toMatchObject({ body: { error: { code: 'not_found' } } })
  })

  it('without a key fails before any request', async () => {
    const seller = await market.seller(honest)
    for (const call of [
      () => new SvcClient().call(seller.url),
      () => new SvcClient().subscribe(seller.url),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'no_signer' })
    }
    expect(seller.seen).toEqual([])
  })

  it('retries the first request for 5xx, and never for 4xx', async () => {
    const { client } = market.payer()
    const flaky = await market.seller((seen, shop) =>
      shop.seen.length < 3 ? failure(502, 'bad_gateway') : honest(seen, shop),
    )
    expect((await client.call(flaky.url, {})).data).toEqual({ done: true })
    const closed = await market.seller(() => failure(403, 'forbidden', { 'retry-after': '0' }))
    await expect(client.call(closed.url, {})).rejects.toMatchObject({ status: 403 })
    expect(closed.seen).toHaveLength(1)
  })

  const invalid: [string, () => unknown, string][] = [
    ['a relative URL', () => payer().call('/work'), 'invalid_url'],
    ['another protocol', () => payer().call('file:///etc/passwd'), 'invalid_url'],
    ['credentials in the URL', () => payer().call('https://user:pass@agent.example/'), 'invalid_url'],
    ['a body that is no JSON', () => payer().call('https://agent.example/', { n: 1n }), 'invalid_request'],
    [
      'a GET with a body',
      () => payer().call('https://agent.example/', {}, { method: 'GET' }),
      'invalid_request',
    ],
    [
      'a key with a line break',
      () => payer().call('https://agent.example/', {}, { idempotencyKey: 'a\nb' }),
      'invalid_request',
    ],
    ['a limit that is no price', async () => new SvcClient({ maxPrice: '0.0000001' }), 'invalid_price'],
    [
      'such a limit of a call',
      () => payer().call('https://agent.example/', {}, { maxPrice: 'little' }),
      'invalid_price',
    ],
    [
      'a finishPaid that is no boolean',
      () => payer().call('https://agent.example/', {}, { finishPaid: 'no' as never }),
      'invalid_options',
    ],
    ['an unknown network', async () => new SvcClient({ network: 'devnet' as never }), 'invalid_options'],
    ['no attempts', async () => new SvcClient({ retry: { attempts: 0 } }), 'invalid_options'],
    [
      'two secrets',
      async () => new SvcClient({ mnemonic: 'a', secretKey: new Uint8Array(64) }),
      'invalid_options',
    ],
    ['a broken mnemonic', async () => new SvcClient({ mnemonic: 'abandon '.repeat(25) }), 'invalid_key'],
    ['a broken key', async () => new SvcClient({ secretKey: new Uint8Array(64) }), 'invalid_key'],
  ]
  const payer = () =>
    market.payer({ fetchImpl: () => Promise.reject(new Error('nothing is to be sent')) }).client
  for (const [name, act, code] of invalid) {
    it(`refuses ${name}`, async () => {
      await expect(act()).rejects.toMatchObject({ name: 'SvcError', code })
    })
  }
})

describe('discover', () => {
  it('reads a manifest from the base URL, and refuses what is none', async () => {
    const manifest = {
      name: 'A',
      handle: 'an-agent',
      network: 'testnet',
      payTo: market.sandbox.seller.address,
      endpoints: [],
    }
    const seller = await market.seller(({ path }) => ({
      status: 200,
      body: JSON.stringify(path === '/.well-known/svc.json' ? manifest : {}),
    }))
    const { origin } = new URL(seller.url)
    for (const base of [origin, `${origin}/`, `${origin}/.well-known/svc.json`]) {
      expect(await new SvcClient().discover(base)).toEqual(manifest)
    }
    await expect(new SvcClient().discover(`${origin}/elsewhere`)).rejects.toMatchObject({
      code: 'invalid_manifest',
    })
  })
})

describe('a subscription', () => {
  const KEY = 'window-key-1'
  const EXPIRES = new Date(Date.now() + 60_000).toISOString()
  const asked = (shop: Shop) => shop.challenge(shop.entry({ extra: { subscriptionPeriod: '1m' } }))
  const subscription: Script = (seen, shop) => {
    if (seen.headers['x-svc-subscription'] === KEY) return ANSWER
    if (!seen.payment) return asked(shop)
    return shop.sell(seen.payment, { 'x-svc-subscription': KEY, 'x-svc-subscription-expires': EXPIRES })
  }

  it('is bought once and then used, without paying and without a signer', async () => {
    const { client, spent } = market.payer()
    const seller = await market.seller(subscription)
    const bought = await client.subscribe(seller.url, {})
    expect(bought).toMatchObject({
      data: { done: true },
      key: KEY,
      url: seller.url,
      expiresAt: Date.parse(EXPIRES),
    })
    expect(client.activeSubscriptions).toEqual([
      { url: seller.url, key: KEY, expiresAt: Date.parse(EXPIRES) },
    ])
    expect(await client.call(`${seller.url}?n=2`, {})).toEqual({
      data: { done: true },
      status: 200,
      attempts: 1,
    })
    expect(spent()).toBe(PRICE)

    const keyOnly = new SvcClient()
    keyOnly.useSubscription(seller.url, KEY, EXPIRES)
    expect((await keyOnly.call(seller.url, {})).data).toEqual({ done: true })
  })

  it('is kept also when a plain call bought it', async () => {
    const { client, spent } = market.payer()
    const seller = await market.seller(subscription)
    await client.call(seller.url, {})
    await client.call(seller.url, {})
    expect(spent()).toBe(PRICE)
  })

  it('that is no longer accepted is forgotten, and the call is paid', async () => {
    const { client, spent } = market.payer()
    const seller = await market.seller(subscription)
    client.useSubscription(seller.url, 'an-old-key')
    const { warnings } = await client.call(seller.url, {})
    expect(warnings).toMatchObject([{ code: 'key_refused' }])
    expect(seller.paid()[0]?.headers).not.toHaveProperty('x-svc-subscription')
    expect(client.activeSubscriptions.map(({ key }) => key)).toEqual([KEY])
    expect(spent()).toBe(PRICE)
  })

  it('whose expiry has passed by the clock of this machine is bought once', async () => {
    const { client, spent } = market.payer()
    const ended = { 'x-svc-subscription': KEY, 'x-svc-subscription-expires': new Date(0).toISOString() }
    const seller = await market.seller((seen, shop) => {
      if (seen.headers['x-svc-subscription'] === KEY) return ANSWER
      const extra = { feePayer: market.sandbox.feePayer, subscriptionPeriod: '1h' }
      return seen.payment ? shop.sell(seen.payment, ended) : shop.challenge(shop.entry({ extra }))
    })
    await client.subscribe(seller.url, {})
    for (let call = 0; call < 2; call++) await client.call(seller.url, {})
    expect(spent()).toBe(PRICE)
  })

  it('that is refused before its end is not bought again, until the caller says so', async () => {
    const { client, spent } = market.payer()
    const extra = { feePayer: market.sandbox.feePayer, subscriptionPeriod: '1h' }
    const forgetful = await market.seller((seen, shop) =>
      seen.payment
        ? shop.sell(seen.payment, { 'x-svc-subscription': KEY })
        : shop.challenge(shop.entry({ extra })),
    )
    await client.subscribe(forgetful.url, {})
    for (let call = 0; call < 2; call++) {
      await expect(client.call(forgetful.url, {})).rejects.toMatchObject({
        code: 'subscription_refused',
        status: 402,
        detail: { url: forgetful.url },
      })
    }
    expect(spent()).toBe(PRICE)
    await client.subscribe(forgetful.url, {})
    expect(spent()).toBe(2n * PRICE)
    client.dropSubscription(forgetful.url)
    await client.call(forgetful.url, {})
    expect(spent()).toBe(3n * PRICE)
  })

  it('that has ended is not listed', () => {
    const client = new SvcClient()
    client.useSubscription('https://agent.example/a', KEY, Date.now() - 1)
    client.useSubscription('https://agent.example/b', KEY, new Date(Date.now() + 60_000))
    expect(client.activeSubscriptions.map(({ url }) => url)).toEqual(['https://agent.example/b'])
    expect(() => client.useSubscription('https://agent.example/', 'a\nb')).toThrow(SvcError)
    expect(() => client.useSubscription('https://agent.example/', KEY, 'soon')).toThrow(SvcError)
  })

  it('key is only for the endpoint that sold it', async () => {
    const { client } = market.payer()
    const seller = await market.seller(() => ANSWER)
    client.useSubscription(seller.url, KEY)
    await client.call(`${seller.url}/other`, {})
    expect(seller.seen[0]?.headers).not.toHaveProperty('x-svc-subscription')
  })

  it('that issues no key is none, and one that the quote does not offer is not paid', async () => {
    const { client, spent } = market.payer()
    // The entry that names a window is for payers of another network.
    const elsewhere = { network: CAIP2.mainnet, extra: { subscriptionPeriod: '1m' } }
    const mixed = await market.seller((_, shop) => shop.challenge(shop.entry(elsewhere), shop.entry()))
    await expect(client.subscribe(mixed.url, {})).rejects.toMatchObject({ code: 'not_a_subscription' })
    expect(mixed.paid()).toEqual([])
    const keyless: Script = (seen, shop) => (seen.payment ? shop.sell(seen.payment) : asked(shop))
    await expect(client.subscribe((await market.seller(keyless)).url, {})).rejects.toMatchObject({
      code: 'not_a_subscription',
      detail: { amount: '10000', charged: 'yes' },
    })
    expect(spent()).toBe(PRICE)
    await expect(client.subscribe((await market.seller(() => ANSWER)).url)).rejects.toMatchObject({
      code: 'not_a_subscription',
    })
  })
})

describe('secrets', () => {
  it('are in no error, JSON or inspection', async () => {
    const { mnemonic } = market.sandbox.accounts('secretive')
    const client = new SvcClient({
      mnemonic,
      network: 'testnet',
      algodUrl: market.sandbox.algodUrl,
      retry: false,
    })
    client.useSubscription('http://127.0.0.1:1/a', 'a-secret-window')
    const failing = [() => failure(500, 'x'), honest, () => ({ status: 402 }), () => 'cut' as const]
    const shown: string[] = [JSON.stringify(client), inspect(client, { depth: 9, showHidden: true })]
    for (const script of failing) {
      const outcome: unknown = await client.call((await market.seller(script)).url, {}).catch(error => error)
      shown.push(inspect(outcome, { depth: 9, showHidden: true }), JSON.stringify(outcome))
    }
    const words = mnemonic.split(' ')
    for (const broken of [
      words.slice(1).join(' '),
      [...words.slice(1), words[0]].join(' '),
      `${mnemonic} ${words[3]}x`,
    ]) {
      try {
        new SvcClient({ mnemonic: broken })
      } catch (error) {
        shown.push(inspect(error, { depth: 9, showHidden: true }))
      }
    }
    expect(shown).toHaveLength(13)
    for (const text of shown) {
      expect(text).not.toContain(words.slice(0, 3).join(' '))
      expect(text).not.toContain(words.slice(5, 8).join(' '))
      expect(text).not.toContain('a-secret-window')
    }
  })
})

describe('the sandbox variable', () => {
  afterEach(() => {
    delete process.env.SVC_SANDBOX
  })

  it('points the client at a sandbox, on its network', async () => {
    process.env.SVC_SANDBOX = market.sandbox.url
    const { mnemonic } = market.sandbox.accounts('by variable')
    const { payment } = await new SvcClient({ mnemonic }).call((await market.seller(honest)).url, {})
    expect(payment?.usd).toBe(PRICE_USD)
  })
})

it('exports the constants', () => {
  expect(CAIP2).toEqual({ mainnet: ALGORAND_MAINNET, testnet: ALGORAND_TESTNET })
  expect(USDC_ASSET_ID).toEqual({ mainnet: 31566704, testnet: 10458941 })
})
