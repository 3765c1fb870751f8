/** What a node says to requests that are no business of the ledger: paths, methods, tokens, formats, browsers. */
import { type Question, question } from '../question.js'
import type { Stage } from '../stage.js'

const ORIGIN = { origin: 'http://localhost:5173' }
const CORS = ['access-control-allow-origin', 'access-control-allow-methods', 'access-control-allow-headers']

async function cors(stage: Stage, method: string, path: string, headers = {}): Promise<unknown> {
  const told = await stage.peer.ask({ method, path, headers: { ...ORIGIN, ...headers } })
  const shown = [...CORS, 'access-control-max-age', 'access-control-expose-headers']
  return {
    status: told.status,
    headers: Object.fromEntries(shown.map(key => [key, told.headers[key] ?? null])),
  }
}

const PREFLIGHT = {
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'content-type,x-algo-api-token',
}

const PATHS = [
  '/v2/nowhere',
  '/v2/',
  '/v2/accounts',
  '/v2/transactions/pending/',
  '/health',
  '/ready',
  '/versions',
  '/v2/transactions/params',
  '/v2/status',
  '/v2/ledger/supply',
  '/v2/status/wait-for-block-after/x',
  '/v2/status/wait-for-block-after/-1',
  '/v2/status/wait-for-block-after/0',
  '/v2/blocks/x',
  '/v2/blocks/-1',
  '/v2/blocks/18446744073709551616',
  '/v2/blocks/999999999999',
  '/v2/blocks/999999999999/txids',
  '/v2/blocks/999999999999/hash',
  '/v2/blocks/1.5/txids',
  '/v2/assets/x',
  '/v2/assets/999999999999',
  '/v2/applications/999999999999',
  '/v2/accounts/BAD',
  '/v2/accounts/BAD/assets/1',
  '/v2/accounts/BAD/transactions/pending',
  '/v2/transactions/pending/x',
  '/v2/transactions/pending/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  '/v2/transactions/pending/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
  '/v2/transactions/pending',
  '/v2/transactions/pending?max=x',
  '/v2/status/',
  '//v2/status',
  '/V2/status',
  '/v2/applications/x',
  '/v2/applications/0',
  '/v2/assets/0',
  '/v2/blocks/',
] as const

const METHODS = [
  ['POST', '/v2/status'],
  ['HEAD', '/v2/status'],
  ['DELETE', '/v2/transactions'],
  ['PUT', '/v2/transactions/params'],
  ['GET', '/v2/transactions/simulate'],
  ['POST', '/v2/blocks/1'],
] as const

const BODIES: Readonly<Record<string, string | Uint8Array>> = {
  nothing: '',
  text: 'hello',
  'a JSON object': '{}',
  'a JSON array': '[]',
  'no group': '{"txn-groups":[]}',
  'an empty group': '{"txn-groups":[{"txns":[]}]}',
  'an unknown key': '{"txn-groups":[],"zzz":1}',
  'a byte of msgpack': Buffer.of(0xc1),
  'an empty map': Buffer.of(0x80),
  'an array that claims 2^32-1 items': Buffer.of(0xdd, 0xff, 0xff, 0xff, 0xff),
}

export const http: readonly Question[] = [
  ...PATHS.map(path => question(`GET ${path}`, stage => stage.get(path))),
  ...METHODS.map(([method, path]) => question(`${method} ${path}`, stage => stage.ask(method, path))),
  ...Object.entries(BODIES).map(([name, body]) =>
    question(`simulate with ${name}`, stage => stage.ask('POST', '/v2/transactions/simulate', { body })),
  ),
  question('submit nothing', stage => stage.submit(Buffer.alloc(0))),
  question('submit more than 10 MiB', stage =>
    // The header alone: a peer that refuses it reads no body.
    stage.ask('POST', '/v2/transactions', { headers: { 'content-length': '10485761' } }),
  ),
  question('/genesis', async stage => {
    const { status, type, body } = await stage.get('/genesis')
    return { status, type, keys: Object.keys(body as object).sort() }
  }),
  question('/metrics', async stage => {
    const { status, type } = await stage.get('/metrics')
    return { status, type }
  }),
  question('a browser reads', stage => cors(stage, 'GET', '/v2/status')),
  question('a browser reads nothing', stage => cors(stage, 'GET', '/v2/nowhere')),
  question('a browser submits', stage => cors(stage, 'POST', '/v2/transactions')),
  question('a browser asks before it submits', stage =>
    cors(stage, 'OPTIONS', '/v2/transactions', PREFLIGHT),
  ),
  question('a browser asks before it simulates', stage =>
    cors(stage, 'OPTIONS', '/v2/transactions/simulate', PREFLIGHT),
  ),
  question('a program reads', async stage => {
    const { headers } = await stage.peer.ask({ method: 'GET', path: '/v2/status' })
    return headers['access-control-allow-origin'] ?? null
  }),
  ...['/v2/status', '/v2/nowhere', '/v2/transactions/pending', '/metrics'].map(path =>
    question(`the content type of ${path}`, async stage => {
      const { headers } = await stage.peer.ask({ method: 'GET', path })
      return [headers['content-type'], headers.vary]
    }),
  ),
  question('errors end with a newline', async stage => {
    const { body } = await stage.peer.ask({ method: 'GET', path: '/v2/blocks/x' })
    return Buffer.from(body).toString().slice(-3)
  }),
  question('signs of HTML in errors', async stage => {
    const { body } = await stage.peer.ask({ method: 'GET', path: '/v2/blocks/%3Ca%3E&b' })
    return Buffer.from(body).toString()
  }),
  question('the token as a bearer', stage =>
    stage.get('/v2/status', {
      withoutToken: true,
      headers: { authorization: `Bearer ${'a'.repeat(64)}` },
    }),
  ),
  question('no token', stage => stage.get('/v2/status', { withoutToken: true })),
  question('compressed on request', async stage => {
    const headers = { 'accept-encoding': 'gzip' }
    const told = await stage.peer.ask({ method: 'GET', path: '/v2/status', headers })
    return told.headers['content-encoding'] ?? null
  }),
]
