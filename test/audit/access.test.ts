/** Who may see the audit page, over HTTP; and that it is not there at all where nobody asked for it. */
import { request } from 'node:http'
import { describe, expect, it, vi } from 'vitest'
import { defineEndpoint, type ServeOptions } from '../../src/index.js'
import { open, pay, type Seller } from '../support/seller.js'
import { PAYER } from './calls.js'

const TOKEN = 'a-token-of-more-than-sixteen-characters'
const PATHS = ['/_svc/audit', '/_svc/audit/events', '/_svc/audit/runs.jsonl']
const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ secret: 'the answer' }) })

const serving = (options: Partial<ServeOptions>): Promise<Seller> => open([work], options)

/** With headers that `fetch` does not let anybody set. HEAD, so that the stream of events ends. */
function headersOf(url: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]> }>((resolve, reject) => {
    request(url, { method: 'HEAD', headers }, response => {
      response.resume()
      resolve({ status: response.statusCode!, headers: response.headers })
    })
      .on('error', reject)
      .end()
  })
}

describe('the audit page', () => {
  it.each(PATHS)('%s is not there unless it is switched on', async path => {
    const { url } = await serving({})
    expect((await headersOf(url + path)).status).toBe(404)
  })

  it('is there where the environment says so and the program does not', async () => {
    vi.stubEnv('SVC_AUDIT', '1')
    expect((await headersOf(`${(await serving({})).url}/_svc/audit`)).status).toBe(200)
    expect((await headersOf(`${(await serving({ audit: false })).url}/_svc/audit`)).status).toBe(404)
    vi.unstubAllEnvs()
  })

  const strangers: [string, Record<string, string>][] = [
    ['a name that was made to point here', { host: 'rebound.attacker.example' }],
    ['a forwarded caller', { 'x-forwarded-for': '203.0.113.7' }],
    ['a forwarded caller, by the standard', { forwarded: 'for=203.0.113.7' }],
    ['a proxy', { via: '1.1 proxy' }],
    ['a script of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }],
    ['a page on another port', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }],
    ['a frame or an image elsewhere', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }],
  ]
  it.each(strangers)('without a token answers this machine, and not %s', async (_, headers) => {
    const { url } = await serving({ audit: true, trustProxy: 1 })
    for (const path of PATHS) {
      expect((await headersOf(url + path)).status).toBe(200)
      expect((await headersOf(url + path, headers)).status).toBe(403)
    }
  })

  it('with a token answers whoever presents it, from anywhere', async () => {
    const { url } = await serving({ audit: { token: TOKEN } })
    const basic = (password: string) => `Basic ${Buffer.from(`operator:${password}`).toString('base64')}`
    for (const path of PATHS) {
      const { status, headers } = await headersOf(url + path)
      expect({ status, asks: headers['www-authenticate'] }).toEqual({
        status: 401,
        asks: 'Basic realm="audit", charset="UTF-8"',
      })
      const forwarded = { 'x-forwarded-for': '203.0.113.7', host: 'agent.example' }
      for (const authorization of [`Bearer ${TOKEN}`, basic(TOKEN)]) {
        expect((await headersOf(url + path, { ...forwarded, authorization })).status).toBe(200)
      }
      for (const authorization of ['Bearer ', `Bearer ${TOKEN}x`, basic(''), basic('x'), 'Basic', TOKEN]) {
        expect((await headersOf(url + path, { authorization })).status).toBe(401)
      }
    }
  })

  it.each(['short', '', 'fifteen-letters', 'sixteen letters and spaces', undefined])(
    'refuses the token %j at start',
    async token => {
      await expect(serving({ audit: { token } })).rejects.toMatchObject({ code: 'invalid_options' })
    },
  )

  it('keeps what a handler threw and logged in development alone, or where it is asked to', async () => {
    const fail = defineEndpoint({
      name: 'fail',
      price: '$0.01',
      handler: ({ log }) => {
        log('halfway', { page: 2 })
        throw new TypeError('the key is wrong')
      },
    })
    const kept = async (audit: ServeOptions['audit']) => {
      const seller = await open([fail], { audit })
      const answer = await (await pay(seller, `${seller.url}/fail`)).text()
      expect(answer).not.toContain('the key')
      const { error, logs } = seller.ended.at(-1)!
      return [error, logs?.map(({ message, data }) => [message, data])]
    }
    const all = ['TypeError: the key is wrong', [['halfway', { page: 2 }]]]
    expect(await kept(true)).toEqual([undefined, undefined])
    expect(await kept({ token: TOKEN, messages: true })).toEqual(all)
    vi.stubEnv('NODE_ENV', 'development')
    expect(await kept(true)).toEqual(all)
    expect(await kept({ token: TOKEN, messages: false })).toEqual([undefined, undefined])
    expect(await kept(false)).toEqual([undefined, undefined])
    vi.unstubAllEnvs()
  })

  it('is for its own origin only, whatever CORS says of paid routes', async () => {
    const { url } = await serving({ audit: true, advanced: { cors: true } })
    for (const path of PATHS) {
      const { headers } = await headersOf(url + path)
      expect(headers['access-control-allow-origin']).toBeUndefined()
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      })
    }
    const policy = (await headersOf(`${url}/_svc/audit`)).headers['content-security-policy']
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; connect-src 'self';/,
    )
    expect(policy).not.toContain('unsafe')
  })

  it('is under the base path as well', async () => {
    const { url } = await serving({ audit: true, basePath: '/api' })
    for (const path of PATHS) expect((await headersOf(`${url}/api${path}`)).status).toBe(200)
  })

  it('tells no body, names who paid only where the payment landed, and lets go of whoever watches when the server stops', async () => {
    const open = await serving({ audit: true })
    const events = await fetch(`${open.url}/_svc/audit/events`)
    expect((await pay(open, `${open.url}/work`, { body: { secret: 'the question' } })).status).toBe(200)
    const { txId, payer } = open.ended.at(-1)!
    const lines = await (await fetch(`${open.url}/_svc/audit/runs.jsonl`)).text()
    expect(lines).toContain(txId)
    expect(lines).not.toContain(payer)
    let told = ''
    let ended: ReturnType<typeof open.server.shutdown> | undefined
    for await (const chunk of events.body!.pipeThrough(new TextDecoderStream())) {
      told += chunk
      if (told.includes(txId!)) ended ??= open.server.shutdown('test')
    }
    expect(await ended).toMatchObject({ outcome: 'drained' })
    for (const hidden of [PAYER, 'the question', 'the answer']) expect(told).not.toContain(hidden)
    expect(told).toMatch(/^event: hello\ndata: \{"agent":"Test agent"/)
  })
})
