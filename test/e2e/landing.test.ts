/** What indexes and people find at an agent's address: the list of resources, and the pages that a browser shows. */
import { createHash } from 'node:crypto'
import express from 'express'
import { describe, expect, it } from 'vitest'
import { TESTNET, USDC_ASSET_ID } from '../../src/domain/network.js'
import { createHandler, createServer, defineAgent, defineEndpoint } from '../../src/index.js'
import { listen } from '../support/listen.js'
import { ask, challengeIn, open, type Seller, signFor } from '../support/seller.js'

const HTML = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8' }
const EVIL = `"><script>alert(1)</script><img src=https://evil.example/x onerror='alert(2)'>&amp;`

const input = { type: 'object', required: ['text'], properties: { text: { type: 'string' } } } as const
const handler = () => 'done'
const say = defineEndpoint({ name: 'say', description: 'Says it.', price: '$0.01', input, handler })
const month = defineEndpoint({
  name: 'news/all',
  description: 'All news.',
  subscription: { price: '$5', period: '30d', calls: 100 },
  method: 'GET',
  handler,
})
const metered = defineEndpoint({ name: 'metered', price: () => '$0.02', priceHint: 'from $0.01', handler })
const unhinted = defineEndpoint({ name: 'unhinted', description: 'Odd.', price: () => '$0.02', handler })
const hidden = defineEndpoint({ name: 'hidden', price: '$0.01', listed: false, handler })
const ALL = [say, month, metered, unhinted, hidden]

const read = async (url: string, headers: Record<string, string> = {}) => {
  const response = await ask(url, { method: 'GET', headers })
  return { response, text: await response.text() }
}

describe('/.well-known/x402', () => {
  it('has what is listed, with the amount of each price that is known, and the rest in words', async () => {
    const seller = await open(ALL, { basePath: '/api' })
    const terms = {
      network: TESTNET.wholeHashId,
      asset: String(USDC_ASSET_ID.testnet),
      payTo: seller.sandbox.seller.address,
    }
    expect(terms.network).toMatch(/^algorand:.{44}$/)
    const listAt = (at: string) => ({
      x402Version: 2,
      name: 'Test agent',
      description: 'Serves the tests.',
      resources: [
        { url: `${at}/api/say`, method: 'POST', description: 'Says it.', amount: '10000', ...terms },
        {
          url: `${at}/api/news/all`,
          method: 'GET',
          description: 'All news. Price: $5.00 for 30d or 100 calls.',
          amount: '5000000',
          ...terms,
        },
        { url: `${at}/api/metered`, method: 'POST', description: 'Price: from $0.01.', ...terms },
        { url: `${at}/api/unhinted`, method: 'POST', description: 'Odd. Price: dynamic.', ...terms },
      ],
    })
    for (const base of [seller.url, `${seller.url}/api`]) {
      const { response, text } = await read(`${base}/.well-known/x402`)
      expect(response.status).toBe(200)
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        'access-control-allow-origin': '*',
      })
      expect(JSON.parse(text)).toEqual(listAt(seller.url))
    }
    // The other name that indexes ask for.
    const { text: again } = await read(`${seller.url}/.well-known/x402.json`)
    expect(JSON.parse(again)).toEqual(listAt(seller.url))
    const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'agent.example' }
    const { text } = await read(`${seller.url}/.well-known/x402`, forwarded)
    expect(JSON.parse(text)).toEqual(listAt('https://agent.example'))
    const head = await ask(`${seller.url}/.well-known/x402`, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
  })

  it('has the fields that the seller added to the quote, and the page has the picture', async () => {
    const { sandbox } = await open([say])
    const tagged = defineEndpoint({ name: 'tagged', price: '$0.01', extra: { tag: 'own' }, handler })
    const iconUrl = 'https://shop.example/icon.png'
    const agent = defineAgent({
      name: 'Shop',
      handle: 'shop',
      description: 'Sells.',
      payTo: sandbox.seller.address,
      network: 'testnet',
      iconUrl,
      extra: { tag: 'all', beta: true },
      endpoints: [say, tagged],
    })
    const { facilitatorUrl, algodUrl } = sandbox
    const { fetch } = createHandler(agent, { facilitatorUrl, algodUrl })
    const list = await (await fetch(new Request('https://a.example/.well-known/x402'))).json()
    expect(list).toMatchObject({
      resources: [{ extra: { tag: 'all', beta: true } }, { extra: { tag: 'own', beta: true } }],
    })
    const page = await fetch(new Request('https://a.example/', { headers: HTML }))
    expect(await page.text()).toContain(`<meta property="og:image" content="${iconUrl}">`)
  })

  it('says of each endpoint what its own 402 says', async () => {
    const seller = await open([say, month])
    const { resources } = JSON.parse((await read(`${seller.url}/.well-known/x402`)).text)
    for (const { url, method, amount, asset, payTo } of resources) {
      const quote = challengeIn(await ask(url, { method }))
      expect(quote.resource.url).toBe(url)
      expect(quote.accepts[0]).toMatchObject({ amount, asset, payTo })
    }
  })
})

describe('the root', () => {
  it('tells programs where the documents are, at the root and under the base path', async () => {
    const seller = await open([say], { basePath: '/api' })
    for (const base of [seller.url, `${seller.url}/api`]) {
      for (const headers of [
        { accept: '*/*' },
        { accept: 'application/json, text/html' },
        { accept: 'text/html;q=0' },
      ]) {
        const { response, text } = await read(`${base}/?q=1`, headers)
        expect([response.status, response.headers.get('content-type')]).toEqual([
          200,
          'application/json; charset=utf-8',
        ])
        const { name, ...addresses } = JSON.parse(text) as Record<string, string>
        expect(name).toBe('Test agent')
        for (const url of Object.values(addresses)) {
          expect(url.startsWith(`${base}/`)).toBe(true)
          expect((await read(url)).response.status).toBe(200)
        }
      }
    }
    expect((await read(`${seller.url}/api`)).response.status).toBe(404)
  })

  it('shows a browser what is sold, in a page that loads nothing and runs its copy buttons alone', async () => {
    const seller = await open(ALL, { basePath: '/api' })
    const { response, text } = await read(`${seller.url}/`, HTML)
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      vary: 'Accept',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    const policy = response.headers.get('content-security-policy')
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[^ ]+'; script-src 'sha256-[^ ]+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    )
    for (const told of [
      '<meta property="og:site_name" content="Test agent">',
      '<meta property="og:description" content="Serves the tests.">',
      `<meta property="og:url" content="${seller.url}/">`,
      'POST say',
      '$0.01 per call',
      '$5.00 for 30d or 100 calls',
      'from $0.01',
      'priced per call',
      `${seller.url}/api/news/all`,
      `href="${seller.url}/.well-known/svc.json"`,
    ])
      expect(text).toContain(told)
    expect(text).not.toContain('hidden')
    const [, script = ''] = /<script>([^<]*)<\/script>\n<\/body>/.exec(text)!
    expect(policy).toContain(`'sha256-${createHash('sha256').update(script).digest('base64')}'`)
    expect(text.replace(script, '').replace('<script></script>', '')).not.toMatch(
      /<script|<img|<link| style=| on[a-z]+=/,
    )
  })

  it('escapes what the seller wrote, and prints no header that is no host', async () => {
    const { sandbox } = await open([say])
    const agent = defineAgent({
      name: EVIL,
      handle: 'evil',
      description: EVIL,
      payTo: sandbox.seller.address,
      network: 'testnet',
      endpoints: [
        defineEndpoint({ name: 'work', description: EVIL, price: () => '$0.01', priceHint: EVIL, handler }),
      ],
    })
    const { fetch } = createHandler(agent, {
      facilitatorUrl: sandbox.facilitatorUrl,
      algodUrl: sandbox.algodUrl,
    })
    for (const path of ['/', '/work', `/work?q=%22"'><script>alert(3)</script>`]) {
      const headers = { ...HTML, 'x-forwarded-host': EVIL }
      const answer = await fetch(new Request(`https://agent.example${path}`, { headers }))
      const text = await answer.text()
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(text.match(/<script/g)).toHaveLength(1)
      expect(text).not.toMatch(/<img|onerror='/)
      expect(text).toContain('&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;')
    }
  })

  it.each([
    ['createServer', (...args: Parameters<typeof createServer>) => createServer(...args).callback()],
    ['createHandler', (...args: Parameters<typeof createServer>) => createHandler(...args).node],
  ])(
    'of a mount in Express is the mount’s, by %s, where it answered unknown paths before',
    async (name, make) => {
      const { sandbox } = await open([say])
      const agent = defineAgent({
        name: 'Mounted',
        handle: 'mounted',
        description: 'Lives in another app.',
        payTo: sandbox.seller.address,
        network: 'testnet',
        endpoints: [say],
      })
      const { facilitatorUrl, algodUrl } = sandbox
      const app = express()
      app.use('/paid', make(agent, { facilitatorUrl, algodUrl }))
      app.use((_, res) => void res.status(404).send('the app’s own'))
      const url = await listen(app)
      for (const path of ['/paid', '/paid/', '/paid?a=1']) {
        const { text } = await read(url + path, HTML)
        if (name === 'createHandler') expect(text).toBe('the app’s own')
        else {
          expect(text).toContain(`href="${url}/paid/.well-known/svc.json"`)
          expect(text).toContain(`${url}/paid/say`)
        }
      }
      expect((await read(`${url}/`, HTML)).text).toBe('the app’s own')
    },
  )
})

describe('a paid endpoint in a browser', () => {
  it('shows its price and how to pay it, beside the same header', async () => {
    const seller = await open([say, month, metered])
    const pages: [path: string, ...told: string[]][] = [
      [
        'say',
        '$0.01 per call',
        `svc call ${seller.url}/say --body &#39;{&quot;text&quot;:&quot;example&quot;}&#39; --max-price 0.01 --network testnet`,
      ],
      [
        'news/all?of=today',
        '$5.00 for 30d or 100 calls',
        `${seller.url}/news/all?of=today&#39; --method GET`,
      ],
      ['metered', '$0.02 per call'],
    ]
    for (const [path, ...told] of pages) {
      const plain = await read(`${seller.url}/${path}`)
      const { response, text } = await read(`${seller.url}/${path}`, HTML)
      expect([response.status, plain.response.status, plain.text]).toEqual([402, 402, '{}'])
      expect(response.headers.get('payment-required')).toBe(plain.response.headers.get('payment-required'))
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': expect.stringMatching(/^default-src 'none'; style-src 'sha256-/),
        'cache-control': 'no-store',
        vary: expect.stringContaining('Accept'),
        'access-control-expose-headers': expect.stringContaining('PAYMENT-REQUIRED'),
      })
      for (const part of told) expect(text).toContain(part)
    }
  })

  it.each(['text', 'bytes'] as const)(
    'shows no command for a body of %s, which is not JSON',
    async bodyType => {
      const upload = defineEndpoint({ name: 'upload', price: '$0.01', bodyType, handler })
      const seller = await open([upload])
      const { text } = await read(`${seller.url}/upload`, HTML)
      expect(text).toContain('$0.01 per call')
      expect(text).not.toContain('<figure>')
    },
  )

  it('is a page for no other method, and for no other answer', async () => {
    const seller = await open([say, month])
    const posted = await ask(`${seller.url}/say`, { body: { text: 'a' }, headers: HTML })
    expect([posted.status, await posted.text()]).toEqual([402, '{}'])
    const payment = await signFor(seller as Seller, `${seller.url}/news/all`, { method: 'GET' })
    const paid = await ask(`${seller.url}/news/all`, { method: 'GET', headers: { ...HTML, ...payment } })
    expect([paid.status, await paid.text()]).toEqual([200, '"done"'])
    const spent = await ask(`${seller.url}/news/all`, { method: 'GET', headers: { ...HTML, ...payment } })
    expect([spent.status, spent.headers.get('content-type')]).toEqual([
      409,
      'application/json; charset=utf-8',
    ])
  })
})

describe('a probe by GET', () => {
  it('asks a price function as a POST without a body does, and shares its rate limit', async () => {
    const seen: unknown[] = []
    const price = ({ body }: { body: { text?: string } }) => {
      seen.push(body)
      return `$0.0${body.text!.length}`
    }
    const byLength = defineEndpoint({ name: 'by-length', price, input, handler })
    const seller = await open([byLength], { rateLimit: { perMinute: 2, per: 'ip' } })
    const probe = (method: string) => ask(`${seller.url}/by-length?text=12`, { method })
    const quotes = [challengeIn(await probe('POST')), challengeIn(await probe('GET'))]
    expect(quotes[1]).toEqual(quotes[0])
    expect(quotes[0]!.accepts[0]!.amount).toBe('70000')
    expect(seen).toEqual([{}, { text: 'example' }, {}, { text: 'example' }])
    const limited = await probe('GET')
    expect([limited.status, limited.headers.has('retry-after')]).toEqual([429, true])
    expect(seller.ended.map(({ final, status }) => [final, status])).toEqual([
      ['quoted', 402],
      ['quoted', 402],
      ['limited', 429],
    ])
  })
})
