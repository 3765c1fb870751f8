/** `svc doctor --bazaar`: a server of ours has nothing wrong, and each planted defect is found, alone, with its cure. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addressCheck, listingChecks } from '../../src/checks/is-agent-listed.js'
import { TESTNET } from '../../src/domain/network.js'
import { defineEndpoint } from '../../src/index.js'
import { closing } from '../support/closing.js'
import { listen } from '../support/listen.js'
import { openSeller, pay, type Seller } from '../support/seller.js'
import { svc } from './run.js'

interface Passed {
  readonly method: string
  readonly path: string
  status: number
  headers: Record<string, string>
  body: string
}

type Defect = (passed: Passed) => void

let seller: Seller
beforeAll(async () => {
  const input = { type: 'object', required: ['text'], properties: { text: { type: 'string' } } } as const
  seller = await openSeller([
    defineEndpoint({ name: 'say', description: 'Says it.', price: '$0.01', input, handler: () => 1 }),
    defineEndpoint({ name: 'look', price: '$0.02', method: 'GET', handler: () => 1 }),
  ])
})
afterAll(() => seller.close())

/** The seller behind a proxy that spoils its answers. It names its URLs by the proxy's host, as behind any proxy. */
async function behind(defect: Defect): Promise<string> {
  return listen(async (req, res) => {
    const headers = { ...plain(req.headers), 'x-forwarded-host': req.headers.host! }
    const init = { method: req.method!, headers, redirect: 'manual' } as const
    const answer = await fetch(`${seller.url}${req.url}`, init)
    const passed: Passed = {
      method: req.method!,
      path: req.url!,
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
      body: await answer.text(),
    }
    defect(passed)
    send(res, passed)
  })
}

function plain(headers: IncomingHttpHeaders): Record<string, string> {
  const { host, connection, 'content-length': length, ...rest } = headers
  return rest as Record<string, string>
}

function send(res: ServerResponse, { status, headers, body, method }: Passed): void {
  const { 'content-length': _, ...rest } = headers
  res.writeHead(status, rest).end(method === 'HEAD' || status === 204 ? undefined : body)
}

/** The checks that are not ok, and their messages. */
async function wrongBehind(defect: Defect) {
  const findings = await listingChecks({
    network: TESTNET,
    url: await behind(defect),
    facilitatorUrl: seller.sandbox.facilitatorUrl,
  })
  const wrong = findings.filter(({ status }) => status !== 'ok')
  for (const { status, cure } of wrong) expect(cure !== undefined).toBe(status === 'failed')
  return {
    // The index lists the seller's own address, and not the proxy's.
    checks: wrong.map(({ check, status }) => `${check}: ${status}`).filter(line => line !== 'listed: failed'),
    told: wrong.map(({ message }) => message).join('\n'),
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a defect reaches anywhere into a document.
type Spoiled = any

/** Changes the quote in a 402. */
const requoted =
  (change: (quote: Spoiled) => unknown, at = '/say'): Defect =>
  passed => {
    const header = passed.headers['payment-required']
    if (header === undefined || !passed.path.startsWith(at)) return
    const quote = JSON.parse(Buffer.from(header, 'base64').toString())
    change(quote)
    passed.headers['payment-required'] = Buffer.from(JSON.stringify(quote)).toString('base64')
  }

const at =
  (path: string, change: Defect): Defect =>
  passed => {
    if (passed.path === path) change(passed)
  }

const rewritten = (path: string, change: (document: Spoiled) => unknown): Defect =>
  at(path, passed => {
    const document = JSON.parse(passed.body)
    change(document)
    passed.body = JSON.stringify(document)
  })

const LIST = '/.well-known/x402'
const skippedOf = (path: string) => ['quote', 'extensions', 'CORS'].map(check => `${check} ${path}: skipped`)

describe('svc doctor --bazaar', () => {
  it('finds nothing wrong with a server of ours that was paid, and says under which name it is listed', async () => {
    for (const [path, method] of [
      ['say', 'POST'],
      ['look', 'GET'],
    ] as const) {
      const body = method === 'POST' ? { text: 'a' } : undefined
      expect((await pay(seller, `${seller.url}/${path}`, { method, body })).status).toBe(200)
    }
    const env = { SVC_SANDBOX: seller.sandbox.url }
    const [told, asJson] = await Promise.all([
      svc(['doctor', '--bazaar', seller.url], env),
      svc(['doctor', '--bazaar', seller.url, '--json'], env),
    ])
    expect(told).toMatchObject({ code: 0, stderr: '' })
    expect(told.stdout).toMatch(
      /^address +ok +http:\/\/127\.0\.0\.1:\d+ is this machine: .* no index can reach/,
    )
    expect(told.stdout).toMatch(/\nlisted +ok +2 of 2 resources, (without a name|as ".+")\n$/)
    const { ok, url, findings } = JSON.parse(asJson.stdout)
    expect([asJson.code, ok, url]).toEqual([0, true, seller.url])
    expect(findings.map(({ check }: { check: string }) => check)).toEqual([
      ...['address', 'x402 list', 'manifest', 'agent card', 'resources'],
      ...['GET /say', 'POST /say', 'quote /say', 'extensions /say', 'CORS /say'],
      ...['GET /look', 'quote /look', 'extensions /look', 'CORS /look'],
      ...['merchant', 'listed'],
    ])
  })

  it('finds what is not listed yet', async () => {
    const url = await behind(() => {})
    const { code, stdout } = await svc([
      'doctor',
      '--bazaar',
      url,
      '--facilitator',
      seller.sandbox.facilitatorUrl,
    ])
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /\nlisted +FAILED +0 of 2 resources; not \/say, \/look\n {2}-> A resource is listed when/,
    )
    expect(stdout.match(/FAILED/g)).toHaveLength(1)
  })

  const defects: [string, Defect, string[], RegExp?][] = [
    [
      'a list that is missing',
      at(LIST, passed => {
        passed.status = 404
      }),
      ['x402 list: failed'],
      /404/,
    ],
    [
      'a page of the site in its place',
      at(LIST, passed => {
        passed.headers['content-type'] = 'text/html'
      }),
      ['x402 list: failed'],
      /"text\/html", not JSON/,
    ],
    [
      'a list behind a redirect',
      at(LIST, passed => {
        passed.status = 301
        passed.headers.location = 'https://elsewhere.example/'
      }),
      ['x402 list: failed'],
      /redirects/,
    ],
    [
      'a list with the 32-character id of the network',
      rewritten(LIST, list => {
        list.resources[0].network = list.resources[0].network.slice(0, 41)
      }),
      ['x402 list: failed'],
      /resource 1: network .* not the 44-character id/,
    ],
    [
      'a list that promises another price',
      rewritten(LIST, list => {
        list.resources[0].amount = '1'
      }),
      ['quote /say: failed'],
      /amount is "10000", and "1" in the list/,
    ],
    [
      'a list that leads to another origin, which is not asked',
      rewritten(LIST, list => {
        list.resources[1].url = 'http://127.0.0.1:9/look'
      }),
      ['x402 list: failed'],
      /resource 2: url is "http:\/\/127\.0\.0\.1:9\/look", not an address at/,
    ],
    [
      'a list of nothing',
      rewritten(LIST, list => {
        list.resources = []
      }),
      ['x402 list: failed'],
      /no resources/,
    ],
    [
      'a card that is missing',
      at('/.well-known/agent-card.json', passed => {
        passed.status = 404
      }),
      ['agent card: failed'],
    ],
    [
      'a manifest that is none',
      rewritten('/.well-known/svc.json', document => delete document.endpoints),
      ['manifest: failed'],
    ],
    [
      'a root without a page',
      at('/', passed => {
        passed.body = '<title>Coming soon</title>'
      }),
      ['merchant: failed'],
      /no og:title and no og:description/,
    ],
    [
      'a GET that is refused',
      passed => {
        if (passed.path === '/say' && passed.method === 'GET') passed.status = 405
      },
      ['GET /say: failed'],
      /405 instead of 402/,
    ],
    [
      'a POST that is validated before it is quoted',
      passed => {
        if (passed.path === '/say' && passed.method === 'POST') passed.status = 400
      },
      ['POST /say: failed', ...skippedOf('/say')],
      /400 instead of 402/,
    ],
    [
      'a 402 without its header',
      at('/look', passed => delete passed.headers['payment-required']),
      ['GET /look: failed', ...skippedOf('/look')],
      /no PAYMENT-REQUIRED header/,
    ],
    [
      'a header that is no quote',
      at('/look', passed => {
        passed.headers['payment-required'] = '{"plain":1}'
      }),
      ['GET /look: failed', ...skippedOf('/look')],
      /not base64/,
    ],
    [
      'a GET and a POST of two prices',
      passed => {
        if (passed.method === 'GET')
          requoted(quote => {
            quote.accepts[0].amount = '5'
          })(passed)
      },
      ['quote /say: failed'],
      /GET and POST are quoted differently/,
    ],
    [
      'a quote for the address behind the proxy',
      requoted(quote => {
        quote.resource.url = 'http://10.0.0.7:4021/say'
      }),
      ['quote /say: failed'],
      /resource\.url is "http:\/\/10\.0\.0\.7:4021\/say"/,
    ],
    [
      'a quote that nobody can pay in USDC',
      requoted(quote => {
        for (const entry of quote.accepts) entry.asset = '1'
      }),
      ['quote /say: failed'],
      /no entry of accepts is in USDC/,
    ],
    [
      'a quote of nothing',
      requoted(quote => {
        for (const entry of quote.accepts) entry.amount = '0'
      }),
      ['quote /say: failed'],
      /its amount is zero/,
    ],
    [
      'a quote whose money is taken before the work',
      requoted(quote => {
        for (const entry of quote.accepts) entry.extra.paymentFlow = 'upfront'
      }),
      ['quote /say: failed'],
      /takes the money before the work/,
    ],
    [
      'a quote with a false sponsor',
      requoted(quote => {
        for (const entry of quote.accepts) entry.extra.feePayer = 'A'
      }),
      ['quote /say: failed'],
      /extra\.feePayer is missing or no address/,
    ],
    [
      'a header that proxies refuse',
      requoted(quote => {
        quote.error = 'x'.repeat(7_000)
      }),
      ['quote /say: failed'],
      /more than 8192/,
    ],
    [
      'a name that clients refuse',
      requoted(quote => {
        quote.resource.serviceName = 'ä'.repeat(40)
      }),
      ['quote /say: failed'],
      /serviceName/,
    ],
    [
      'a quote without extensions',
      requoted(quote => delete quote.extensions),
      ['extensions /say: failed'],
      /no extension bazaar/,
    ],
    [
      'a declaration of another method',
      requoted(quote => {
        quote.extensions.bazaar.info.input.method = 'GET'
        quote.extensions.bazaar.schema.properties.input.properties.method.enum = ['GET']
      }),
      ['extensions /say: failed'],
      /declares "GET", and the endpoint takes POST/,
    ],
    [
      'an example that contradicts its schema',
      requoted(quote => {
        quote.extensions.bazaar.info.input.body = {}
      }),
      ['extensions /say: failed'],
      /bazaar's info does not satisfy its schema/,
    ],
    [
      'a declaration that is too large',
      requoted(quote => {
        quote.extensions.bazaar.info.input.note = 'x'.repeat(3_100)
      }),
      ['extensions /say: failed'],
      /more than 3072/,
    ],
    [
      'a schema that refers to another document',
      requoted(quote => {
        quote.extensions.bazaar.schema.$id = 'https://a.example/s'
      }),
      ['extensions /say: failed'],
      /refers to another document/,
    ],
    [
      'an extension of another shape',
      requoted(quote => {
        quote.extensions['payment-identifier'] = true
      }),
      ['extensions /say: failed'],
      /"payment-identifier" has no info/,
    ],
    [
      'a receipt that pages cannot read',
      at('/say', passed => {
        passed.headers['access-control-expose-headers'] = 'PAYMENT-REQUIRED'
      }),
      ['CORS /say: failed'],
      /lacks PAYMENT-RESPONSE/,
    ],
    [
      'answers that pages cannot read',
      at('/look', passed => delete passed.headers['access-control-allow-origin']),
      ['CORS /look: failed'],
    ],
    [
      'a preflight that a login stands before',
      passed => {
        if (passed.method === 'OPTIONS') passed.status = 401
      },
      ['CORS /say: failed', 'CORS /look: failed'],
      /preflight is answered 401/,
    ],
    [
      'a preflight that allows no payment',
      passed => {
        if (passed.method === 'OPTIONS') passed.headers['access-control-allow-headers'] = 'content-type'
      },
      ['CORS /say: failed', 'CORS /look: failed'],
      /does not allow payment-signature/,
    ],
  ]
  for (const [name, defect, checks, told] of defects) {
    it(`finds ${name}`, async () => {
      const wrong = await wrongBehind(defect)
      expect(wrong.checks).toEqual(checks)
      if (told) expect(wrong.told).toMatch(told)
    })
  }

  it('takes a merchant that the quotes name for the page', async () => {
    const merchant = { info: { name: 'Shop' }, schema: { type: 'object', required: ['name'] } }
    const { checks } = await wrongBehind(passed => {
      if (passed.path === '/') passed.status = 404
      requoted(quote => {
        quote.extensions['x402-merchant'] = merchant
      })(passed)
    })
    expect(checks).toEqual([])
    const broken = await wrongBehind(
      requoted(quote => {
        quote.extensions['x402-merchant'] = { ...merchant, info: {} }
      }),
    )
    expect(broken.checks).toEqual(['extensions /say: failed'])
  })

  it('finds an agent that is mounted, whose list is not at the root', async () => {
    const mounted = closing(
      await openSeller([defineEndpoint({ name: 'say', price: '$0.01', handler: () => 1 })], {
        basePath: '/paid',
        sandbox: seller.sandbox,
      }),
    )
    const url = await listen(async (req, res) => {
      if (!req.url!.startsWith('/paid/')) return void res.writeHead(404).end()
      const headers = { ...plain(req.headers), 'x-forwarded-host': req.headers.host! }
      const answer = await fetch(mounted.url + req.url, { method: req.method!, headers })
      res
        .writeHead(answer.status, Object.fromEntries(answer.headers))
        .end(Buffer.from(await answer.arrayBuffer()))
    })
    const findings = await listingChecks({
      network: TESTNET,
      url: `${url}/paid`,
      facilitatorUrl: seller.sandbox.facilitatorUrl,
    })
    const wrong = findings.filter(({ status }) => status !== 'ok')
    expect(wrong.map(({ check }) => check)).toEqual(['x402 list', 'agent card', 'merchant', 'listed'])
    expect(wrong[0]!.message).toContain(`it is at ${url}/paid/.well-known/x402`)
  })

  it('ends with findings where nobody answers, or a stranger answers anything', async () => {
    const gone = await listingChecks({
      network: TESTNET,
      url: 'http://127.0.0.1:9',
      facilitatorUrl: 'http://127.0.0.1:9',
    })
    expect(gone.map(({ check, status }) => `${check}: ${status}`)).toEqual([
      'address: ok',
      'x402 list: failed',
      'manifest: failed',
      'agent card: failed',
      'resources: skipped',
      'merchant: failed',
      'listed: skipped',
    ])
    const deep = `${'['.repeat(2_500)}${']'.repeat(2_500)}`
    for (const junk of ['null', '[]', '{"resources":[null,5,{}]}', deep, `{"x402Version":${deep}}`]) {
      const header = Buffer.from(`{"accepts":${junk},"extensions":${junk},"resource":${junk}}`).toString(
        'base64',
      )
      const url = await listen((req, res) => {
        const { port } = req.socket.address() as AddressInfo
        const list = `{"name":"\\u001b[2J","x402Version":2,"resources":[{"url":"http://127.0.0.1:${port}/x","method":"POST"}]}`
        res.writeHead(req.url === '/x' ? 402 : 200, {
          'content-type': 'application/json',
          'payment-required': header,
        })
        res.end(req.url === LIST ? list : junk)
      })
      const findings = await listingChecks({ network: TESTNET, url, facilitatorUrl: url })
      expect(findings.map(({ status }) => status)).toContain('failed')
      expect(findings.map(({ message }) => message).join()).not.toContain('\u001b')
      // One process prints what all of them find.
      if (junk !== 'null') continue
      const { code, stdout, stderr } = await svc(['doctor', '--bazaar', url, '--facilitator', url])
      expect([code, stderr]).toEqual([1, ''])
      expect(stdout).not.toContain('\u001b')
    }
  })

  it('refuses what is no address of the web', async () => {
    const { code, stderr } = await svc(['doctor', '--bazaar', 'agent.example'])
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('(invalid_url)') })
  })

  it('says of http at a public name, and of an inner network, that no index lists it', async () => {
    const statuses = [
      'https://agent.example',
      'http://agent.example',
      'http://localhost:4021',
      'http://[::1]:1',
      'https://10.0.0.7',
      'https://[fd00::1]',
    ].map(url => addressCheck(new URL(url)).status)
    expect(statuses).toEqual(['ok', 'failed', 'ok', 'ok', 'failed', 'failed'])
  })
})
