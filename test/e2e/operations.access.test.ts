/** Who may read metrics and runs: scrapers on the inside, no page of another site, no name that was made to point here. */
import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { defineEndpoint, type ServeOptions } from '../../src/index.js'
import { sendRaw } from '../support/raw-http.js'
import { open } from '../support/seller.js'

const PATHS = ['/metrics', '/_svc/runs']
const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => 1 })
const serving = (options: Partial<ServeOptions> = {}) => open([work], options)

/** With headers that `fetch` sets itself. */
function get(url: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string }>(
    (resolve, reject) => {
      request(url, { headers }, async response => {
        let body = ''
        for await (const chunk of response) body += chunk
        resolve({ status: response.statusCode!, headers: response.headers, body })
      })
        .on('error', reject)
        .end()
    },
  )
}

describe('metrics and runs', () => {
  it.each([
    '127.0.0.1:4021',
    '[::1]:4021',
    'localhost:4021',
    'agent.localhost',
    '10.0.0.7:4021',
    '203.0.113.7',
    'agent-1:4021',
    'agent.shop.svc',
    'agent.shop.svc.cluster.local:4021',
    'box.local',
    'agent.internal',
    'agent.internal.',
    'AGENT.INTERNAL',
  ])('answer a scraper that calls the agent %s', async host => {
    const { url } = await serving()
    for (const path of PATHS) expect((await get(url + path, { host })).status).toBe(200)
  })

  it('answer a client that names no host', async () => {
    const { url } = await serving()
    expect((await sendRaw(url, 'GET /metrics HTTP/1.0\r\n\r\n')).status).toBe(200)
  })

  const strangers: [string, Record<string, string>][] = [
    ['a name that was made to point here', { host: 'rebound.attacker.example' }],
    ['one that ends like an inner name', { host: 'notinternal.example' }],
    ['one that begins like an address', { host: '127.0.0.1.attacker.example:4021' }],
    ['a public name behind a proxy', { host: 'agent:4021', 'x-forwarded-host': 'api.example.com' }],
    ['a script of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }],
    ['a page on another port', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }],
    ['an image elsewhere', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }],
    ['a script of an old browser', { origin: 'http://attacker.example' }],
    ['a page without an origin', { origin: 'null' }],
  ]
  it.each(strangers)('refuse %s', async (_, headers) => {
    const { url } = await serving({ basePath: '/api' })
    for (const path of PATHS.flatMap(each => [each, `/api${each}`])) {
      const { status, body } = await get(url + path, headers)
      expect({ status, body }).toEqual({ status: 403, body: expect.stringContaining('operations_forbidden') })
      expect(body).not.toContain('svc_')
    }
  })

  it('answer under the public names that the seller lists, and their own pages', async () => {
    const { url } = await serving({ operationsHosts: ['Ops.example.com'] })
    for (const path of PATHS) {
      const own = {
        host: 'ops.example.com',
        origin: 'https://ops.example.com',
        'sec-fetch-site': 'same-origin',
      }
      expect((await get(url + path, own)).status).toBe(200)
      expect((await get(url + path, { host: 'ops.example.com:8443' })).status).toBe(200)
      expect((await get(url + path, { host: 'agent', 'x-forwarded-host': 'ops.example.com' })).status).toBe(
        200,
      )
      expect((await get(url + path, { host: 'example.com' })).status).toBe(403)
      expect((await get(url + path, { ...own, origin: 'https://example.com' })).status).toBe(403)
    }
  })

  it('are readable by no other origin, whatever CORS says of paid routes', async () => {
    const { url } = await serving({ advanced: { cors: true } })
    for (const path of PATHS) {
      for (const headers of [{}, { origin: url }] as Record<string, string>[]) {
        const { headers: answered } = await get(url + path, headers)
        expect(answered['access-control-allow-origin']).toBeUndefined()
        expect(answered).toMatchObject({
          'cache-control': 'no-store',
          'cross-origin-resource-policy': 'same-origin',
          'x-content-type-options': 'nosniff',
        })
      }
    }
  })

  it('leave health, readiness and discovery to everybody', async () => {
    const { url } = await serving()
    for (const path of ['/health', '/.well-known/svc.json']) {
      const { status, headers } = await get(url + path, {
        host: 'api.example.com',
        origin: 'https://page.example',
      })
      expect({ status, cors: headers['access-control-allow-origin'] }).toEqual({ status: 200, cors: '*' })
    }
  })

  it.each([[['https://ops.example.com']], [['ops.example.com:80']], [['']], [[7]], ['*']])(
    'refuse the hosts %j at start',
    async operationsHosts => {
      await expect(serving({ operationsHosts: operationsHosts as never })).rejects.toMatchObject({
        code: 'invalid_options',
      })
    },
  )
})
