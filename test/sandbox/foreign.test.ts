/** Pages of the web reach the sandbox through a browser on its machine. It answers none of them. */
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'

/** Rounds pass only where a request makes them. */
const STILL_MS = 86_400_000

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox({ roundMs: STILL_MS })
})
beforeEach(() => sandbox.faults.clear())
afterAll(() => sandbox.close())

interface Told {
  readonly status: number | undefined
  readonly code: string | undefined
  readonly headers: Readonly<Record<string, unknown>>
}

/** By hand: fetch sets Host and Origin itself. */
function ask(method: string, path: string, headers: Record<string, string> = {}, body = ''): Promise<Told> {
  return new Promise((resolve, reject) => {
    const sent = request(`${sandbox.url}${path}`, { method, headers }, async answer => {
      const said = await text(answer)
      const told =
        answer.headers['content-type'] === 'application/json' && said !== '' ? JSON.parse(said) : {}
      resolve({ status: answer.statusCode, code: told.error?.code, headers: answer.headers })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

const port = () => new URL(sandbox.url).port
const json = { 'content-type': 'application/json' }
const fault = JSON.stringify({ stage: 'settle', behaviour: 'refuse' })

/** One of each kind: control, facilitator, node, indexer, and no route at all. */
const routes: readonly (readonly [method: string, path: string, body?: string])[] = [
  ['GET', '/sandbox'],
  ['PUT', '/sandbox/faults', fault],
  ['POST', '/sandbox/rounds', '{"advance":1}'],
  ['POST', '/sandbox/fund', '{}'],
  ['DELETE', '/sandbox/faults'],
  ['GET', '/supported'],
  ['POST', '/settle', '{}'],
  ['POST', '/verify', '{}'],
  ['GET', '/discovery/resources'],
  ['GET', '/v2/status'],
  ['POST', '/v2/transactions', 'x'],
  ['GET', '/v2/transactions?limit=1'],
  ['GET', '/nowhere'],
  ['OPTIONS', '/settle'],
  ['OPTIONS', '/sandbox/faults'],
]

describe('a name that is none of this machine', () => {
  const hosts = [
    'evil.example',
    'evil.example:4402',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'localhost@evil.example',
    'evil@localhost',
    'evillocalhost',
    '128.0.0.1',
    '10.0.0.1',
    '0.0.0.0',
    '[::2]',
    'localhost:99999',
  ]
  for (const host of hosts) {
    it(`as Host, '${host}' is refused on every route, and changes nothing`, async () => {
      const round = sandbox.round()
      for (const [method, path, body] of routes) {
        const { status, code } = await ask(method, path, { ...json, host }, body)
        expect([path, status, code]).toEqual([path, 403, 'foreign_host'])
      }
      expect(sandbox.faults.list()).toEqual([])
      expect(sandbox.round()).toBe(round)
    })
  }
})

it('names of this machine are answered, on any port', async () => {
  for (const name of [
    'localhost',
    'LOCALHOST',
    'sandbox.localhost',
    '127.0.0.1',
    '127.8.9.10',
    '[::1]',
    '[0:0::1]',
  ]) {
    for (const host of [name, `${name}:${port()}`, `${name}:1`]) {
      expect([host, (await ask('GET', '/sandbox', { host })).status]).toEqual([host, 200])
    }
  }
})

describe('a page', () => {
  const strangers = [
    'https://evil.example',
    'http://evil.example:80',
    'null',
    'file://',
    'http://localhost.evil.example',
    'x',
  ]
  for (const origin of strangers) {
    it(`of ${origin} is refused on every route, and changes nothing`, async () => {
      const round = sandbox.round()
      for (const [method, path, body] of routes) {
        const { status, code } = await ask(method, path, { ...json, origin }, body)
        expect([path, status, code]).toEqual([path, 403, 'foreign_origin'])
      }
      expect(sandbox.faults.list()).toEqual([])
      expect(sandbox.round()).toBe(round)
    })
  }

  it('of another port of this machine reads and pays, and does not control', async () => {
    const origin = 'http://localhost:5173'
    for (const [method, path, body] of routes.filter(([each]) => each !== 'OPTIONS')) {
      const { status, code, headers } = await ask(method, path, { ...json, origin }, body)
      expect(headers['access-control-allow-origin']).toBe('*')
      const controls = method !== 'GET' && path.startsWith('/sandbox')
      expect([path, controls]).toEqual([path, status === 403 && code === 'foreign_origin'])
    }
    expect(sandbox.faults.list()).toEqual([])
  })

  it('of its own origin controls it, as programs do', async () => {
    for (const headers of [{ ...json, origin: sandbox.url }, json]) {
      expect((await ask('PUT', '/sandbox/faults', headers, fault)).status).toBe(200)
      expect(sandbox.faults.list()).toHaveLength(1)
      expect((await ask('DELETE', '/sandbox/faults', headers)).status).toBe(200)
    }
  })

  it('asks first, and is told yes for the node and the facilitator', async () => {
    const origin = 'http://localhost:5173'
    const wants = (method: string) => ({
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'content-type,x-algo-api-token',
    })
    for (const [method, path] of [
      ['POST', '/v2/transactions'],
      ['POST', '/v2/transactions/simulate'],
      ['GET', '/v2/transactions/params'],
      ['GET', '/v2/status'],
      ['GET', '/supported'],
      ['POST', '/verify'],
      ['POST', '/settle'],
      ['GET', '/discovery/resources'],
    ] as const) {
      const { status, headers } = await ask('OPTIONS', path, wants(method))
      const ofNode = path.startsWith('/v2/')
      expect([path, status]).toEqual([path, ofNode ? 204 : 200])
      expect(headers['access-control-allow-origin']).toBe('*')
      expect(headers['access-control-allow-methods']).toContain(method)
      expect(headers['access-control-allow-headers']).toBe(ofNode ? 'X-Algo-API-Token,Content-Type' : '*')
    }
    for (const [method, path] of routes.filter(
      ([method, path]) => method !== 'GET' && path.startsWith('/sandbox/'),
    )) {
      if (method === 'OPTIONS') continue
      expect(await ask('OPTIONS', path, wants(method))).toMatchObject({ status: 403, code: 'foreign_origin' })
    }
  })
})
