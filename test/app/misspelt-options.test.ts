/** An option that went unread would leave its default in force: a misspelt one is refused, wherever options are given. */
import { describe, expect, it } from 'vitest'
import { OPTIONS } from '../../src/app/server/options/server-options.js'
import type { OptionTable } from '../../src/domain/option-checks.js'
import * as facilitatorEntry from '../../src/facilitator.js'
import { createFacilitator, facilitatorApp } from '../../src/facilitator.js'
import * as entry from '../../src/index.js'
import {
  algodRegistry,
  createGate,
  createHandler,
  createServer,
  defineAgent,
  defineEndpoint,
  findInBazaar,
  listBazaar,
  listWholeBazaar,
  SvcClient,
  serve,
  verifyAgent,
} from '../../src/index.js'
import * as redisEntry from '../../src/redis.js'
import { redisStores } from '../../src/redis.js'
import * as sandboxEntry from '../../src/sandbox.js'
import { type FaultOptions, startSandbox } from '../../src/sandbox.js'
import * as testingEntry from '../../src/testing.js'
import { refusedWith } from '../domain/refusal.js'

const ADDRESS = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ'
const ENDPOINT = { name: 'work', price: '$0.01', handler: () => 'done' }
const AGENT = {
  name: 'Spelt',
  handle: 'spelt',
  description: 'Works.',
  payTo: ADDRESS,
  network: 'testnet',
  endpoints: [defineEndpoint(ENDPOINT)],
} as const
const { endpoints: _, ...GATE } = AGENT

const define = (more: object) => defineEndpoint({ ...ENDPOINT, ...more } as never)
const selling = (window: object) =>
  defineEndpoint({
    name: 'feed',
    subscription: { price: '$1', period: '1d', ...window },
    handler: () => 'done',
  })
const agent = defineAgent(AGENT)

const client = new SvcClient({
  network: 'testnet',
  fetchImpl: () => Promise.reject(new Error('sent')),
})
const payer = new SvcClient({
  network: 'testnet',
  // The sandbox's wallet: play money.
  mnemonic:
    'bar snake wild pitch market amateur bag intact defy turn receive monkey model remove shrug flush okay entire moral yellow warfare mother spatial abandon seven',
  fetchImpl: () => Promise.reject(new Error('sent')),
})
const URL_OF_NOBODY = 'http://127.0.0.1:1'
const NETWORK = {
  name: 'private',
  genesisId: 'private-v1',
  genesisHash: `${'A'.repeat(43)}=`,
  usdc: 1,
}

/** What each public function that takes options says to names that it does not know. */
const functions: Record<string, readonly [(options: object) => unknown, string, Record<string, string>]> = {
  defineEndpoint: [
    define,
    'invalid_endpoint',
    { timout: 'timeout', maxbodybytes: 'maxBodyBytes', deprecatd: 'deprecated', prise: 'price' },
  ],
  'the window of defineEndpoint': [selling, 'invalid_endpoint', { call: 'subscription.calls' }],
  'the rate limit of defineEndpoint': [
    more => define({ rateLimit: { perMinute: 1, ...more } }),
    'invalid_endpoint',
    { pre: 'rateLimit.per' },
  ],
  defineAgent: [
    more => defineAgent({ ...AGENT, ...more }),
    'invalid_agent',
    { skils: 'skills', iconURI: 'iconUrl', networks: 'network' },
  ],
  'the merchant of defineAgent': [
    more => defineAgent({ ...AGENT, merchant: { name: 'Spelt', ...more } }),
    'invalid_agent',
    { websit: 'merchant.website' },
  ],
  serve: [
    options => serve(agent, options),
    'invalid_options',
    {
      idempotancy: 'idempotency',
      prot: 'port',
      ratelimit: 'rateLimit',
      clock: 'advanced.clock',
      perMinute: 'rateLimit.perMinute',
    },
  ],
  createServer: [options => createServer(agent, options), 'invalid_options', { keepAnswer: 'keepAnswers' }],
  createHandler: [options => createHandler(agent, options), 'invalid_options', { bsaePath: 'basePath' }],
  createGate: [options => createGate(GATE, options), 'invalid_options', { keepAnswer: 'keepAnswers' }],
  'the definition of createGate': [
    more => createGate({ ...GATE, ...more }),
    'invalid_agent',
    { payTO: 'payTo' },
  ],
  SvcClient: [
    options => new SvcClient(options),
    'invalid_options',
    { maxPerday: 'maxPerDay', mnemonik: 'mnemonic', reciptsMax: 'receiptsMax' },
  ],
  'the retries of SvcClient': [
    retry => new SvcClient({ retry }),
    'invalid_options',
    { attemps: 'retry.attempts', baseMS: 'retry.baseMs' },
  ],
  createFacilitator: [
    more => createFacilitator({ network: 'testnet', sponsor: { mnemonic: '' }, payTo: 'anyone', ...more }),
    'invalid_options',
    { feePerDay: 'feePerDayMax', amountmin: 'amountMin' },
  ],
  facilitatorApp: [options => facilitatorApp({} as never, options), 'invalid_options', { tokn: 'token' }],
  redisStores: [
    options => redisStores('redis://127.0.0.1:1', options),
    'invalid_options',
    { waitReplica: 'waitReplicas' },
  ],
  'the stores of serve': [
    stores => createHandler(agent, { stores }),
    'invalid_options',
    { charge: 'stores.charges', ratelimit: 'stores.rateLimit' },
  ],
  'the definition of a network': [
    more => defineAgent({ ...AGENT, network: { ...NETWORK, ...more } }),
    'invalid_agent',
    { algodURL: 'algodUrl' },
  ],
  algodRegistry: [
    more => algodRegistry({ identityApp: 1, ...more }),
    'invalid_options',
    { algodurl: 'algodUrl', reputationapp: 'reputationApp' },
  ],
}

/** The same, of functions that answer later. */
const promises: Record<
  string,
  readonly [(options: object) => Promise<unknown>, string, Record<string, string>]
> = {
  startSandbox: [startSandbox, 'invalid_sandbox', { roundMS: 'roundMs', sead: 'seed' }],
  verifyAgent: [
    more => verifyAgent('https://agent.example', { registry: {} as never, ...more }),
    'invalid_options',
    { fetchimpl: 'fetchImpl' },
  ],
  'SvcClient.quote': [
    options => client.quote(URL_OF_NOBODY, {}, options),
    'invalid_options',
    { header: 'headers' },
  ],
  'SvcClient.estimate': [
    options => client.estimate(URL_OF_NOBODY, {}, options),
    'invalid_options',
    { maxPrise: 'maxPrice' },
  ],
  'SvcClient.call': [
    options => client.call(URL_OF_NOBODY, {}, options),
    'invalid_options',
    { maxPrise: 'maxPrice' },
  ],
  'SvcClient.stream': [
    options => client.stream(URL_OF_NOBODY, {}, options),
    'invalid_options',
    { idleTimeout: 'idleTimeoutMs', maxprice: 'maxPrice' },
  ],
  'SvcClient.subscribe': [
    options => client.subscribe(URL_OF_NOBODY, {}, options),
    'invalid_options',
    { maxPrise: 'maxPrice' },
  ],
  'SvcClient.topUp': [
    options => payer.topUp(URL_OF_NOBODY, '$1', options),
    'invalid_options',
    { signals: 'signal' },
  ],
  'SvcClient.callMany': [
    options => client.callMany([], options),
    'invalid_options',
    { concurency: 'concurrency' },
  ],
  'SvcClient.discover': [
    options => client.discover(URL_OF_NOBODY, options),
    'invalid_options',
    { signals: 'signal' },
  ],
  'SvcClient.balance': [options => client.balance(options), 'invalid_options', { signals: 'signal' }],
}

/** They answer `{ ok: false, error }` where others throw: the specification says that they never do. */
const answers: Record<string, (options: object) => Promise<{ ok: boolean }>> = {
  listBazaar,
  listWholeBazaar,
  findInBazaar: options => findInBazaar('', options),
}

const WITHOUT_OPTIONS = [
  // Of a document, a price, a text or a clock.
  ...['manifest', 'networkFrom', 'priceOf', 'verifyManifest', 'memorySpendLedger', 'SvcError'],
  ...['SvcClient.useSubscription', 'SvcClient.dropSubscription', 'SvcClient.priceOf', 'SvcClient.balances'],
  // A runner, a name, and what makes a store.
  ...Object.keys(testingEntry),
]

const GROUPS = [
  ['rateLimit', { perminute: 1 }, 'rateLimit.perMinute'],
  ['idempotency', { windowMS: 1 }, 'idempotency.windowMs'],
  ['advanced', { credit: { strat: 1 } }, 'advanced.credit.start'],
  ['advanced', { tasks: { maxInputByte: 1 } }, 'advanced.tasks.maxInputBytes'],
  ['subscriptions', { sotre: {} }, 'subscriptions.store'],
  ['advanced', { timeouts: { verify: 1 } }, 'advanced.timeouts.verifyMs'],
  ['doors', { rot: false }, 'doors.root'],
  ['registry', { agentID: 1 }, 'registry.agentId'],
  ['webhooks', [{ ulr: 'http://127.0.0.1' }], 'webhooks.url'],
  ['audit', { tokens: 'x'.repeat(16) }, 'audit.token'],
  ['journal', { pth: 'x' }, 'journal.path'],
  ['advanced', { allowHTTP: true }, 'advanced.allowHttp'],
  ['algodUrl', { ulr: 'http://127.0.0.1' }, 'algodUrl.url'],
  ['facilitatorUrl', { ulr: 'http://127.0.0.1' }, 'facilitatorUrl.url'],
] as const

describe('a misspelt option is refused, and the nearest name is said', () => {
  const cases = Object.entries(functions).flatMap(([name, [call, code, names]]) =>
    Object.entries(names).map(([misspelt, meant]) => ({ name, call, code, misspelt, meant })),
  )
  it.each(cases)('$misspelt of $name', ({ call, code, misspelt, meant }) => {
    const words = new RegExp(`unknown option '[a-zA-Z.]*${misspelt}'. Did you mean '${meant}'\\?`)
    refusedWith(code, () => call({ [misspelt]: 1 }), words)
  })

  it('a gate is not told of a function that it did not call', () => {
    refusedWith(
      'invalid_agent',
      () => createGate({ ...GATE, payTO: 1 } as never),
      /^the definition of the agent: /,
    )
  })

  it.each(GROUPS)('within %s: %j', (group, value, meant) => {
    const words = new RegExp(`Did you mean '${meant}'\\?`)
    refusedWith('invalid_options', () => createHandler(agent, { [group]: value }), words)
  })

  const later = Object.entries(promises).flatMap(([name, [call, code, names]]) =>
    Object.entries(names).map(([misspelt, meant]) => ({ name, call, code, misspelt, meant })),
  )
  it.each(later)('$misspelt of $name, before anything is sent', async ({ call, code, misspelt, meant }) => {
    const message = `unknown option '${misspelt}'. Did you mean '${meant}'?`
    await expect(call({ [misspelt]: 1 })).rejects.toMatchObject({ code, message })
  })

  it('one request of callMany, which is an outcome', async () => {
    const [outcome] = await client.callMany([{ url: URL_OF_NOBODY, maxPrise: '$0.01' } as never])
    expect(outcome).toMatchObject({ ok: false, error: { code: 'invalid_options' } })
  })

  it.each(Object.entries(answers))('limt of %s', async (_, call) => {
    const error = "unknown option 'limt'. Did you mean 'limit'?"
    expect(await call({ limt: 1 })).toEqual({ ok: false, error })
  })

  it('the faults, the money and the scores of a sandbox', async () => {
    const { faults, fund, registry, wallet, close } = await startSandbox()
    try {
      const code = 'invalid_options'
      refusedWith(code, () => faults.set('settle', 'late', { delay: 1 } as FaultOptions), /'delayMs'/)
      refusedWith(code, () => fund(wallet.address, { usd: 1n } as object), /'usdc'/)
      refusedWith(code, () => registry.score(1, { jobPaid: 1n } as object), /'jobsPaid'/)
    } finally {
      await close()
    }
  })

  it('where no name is near, none is said', () => {
    refusedWith('invalid_options', () => createHandler(agent, { colour: 'red' } as object), /'colour'$/)
  })
})

describe('a value of another kind is refused, and what is wanted is said', () => {
  const object = (name: string) => new RegExp(`^${name} is an object such as \\{\\}, not `)
  it.each<[string, unknown, RegExp]>([
    ['logger', true, /^logger has the functions debug, info, warn and error, as pino's has, not true$/],
    ['logger', () => {}, /^logger has the functions debug, info, warn and error/],
    ['logger', null, /^logger has the functions debug, info, warn and error/],
    ['stores', 'redis://localhost', object('stores')],
    ['webhooks', 'https://hooks.example', object('webhooks')],
    ['doors', ['a2a'], object('doors')],
    ['idempotency', true, object('idempotency')],
  ])('%s: %j', (name, value, words) => {
    refusedWith('invalid_options', () => createHandler(agent, { [name]: value }), words)
  })

  it.each([undefined, () => agent, agent.endpoints[0]])('the agent: %s', given => {
    refusedWith(
      'invalid_options',
      () => createHandler(given as never),
      /^The agent is what defineAgent returns$/,
    )
  })

  it('an input that has no word of JSON Schema, which would accept everything', () => {
    const input = { text: 'string' } as object
    const words = /input is not a JSON Schema \(schema is invalid: .*no word of JSON Schema.*'text'/
    refusedWith('invalid_endpoint', () => defineEndpoint({ ...ENDPOINT, input }), words)
    defineEndpoint({ ...ENDPOINT, input: {} })
    defineEndpoint({ ...ENDPOINT, input: { type: 'object', 'x-note': 1 } as object })
  })
})

describe('terms of a gate that cannot be sold are refused when the app starts, not at its first call', () => {
  const gate = createGate(GATE)
  const route = () => new Response()
  it.each<[string, (terms: never) => unknown]>([
    ['express', gate.express],
    ['koa', gate.koa],
    ['hono', gate.hono],
    ['fastify', terms => gate.fastify(terms, route)],
    ['fetch', terms => gate.fetch(terms, route)],
  ])('%s', (_, open) => {
    const misspelt = { path: '/a', prize: '$0.01' } as never
    refusedWith('invalid_endpoint', () => open(misspelt), /unknown option 'prize'. Did you mean 'price'\?/)
  })

  it('fetch, without a path or a function', () => {
    const open = gate.fetch as (...given: unknown[]) => unknown
    const words = /^gate.fetch\(terms, handler\) needs the path of its route in the terms, and its handler$/
    refusedWith('invalid_endpoint', () => open({ price: '$0.01' }, route), words)
    refusedWith('invalid_endpoint', () => open({ price: '$0.01', path: '/a' }), words)
  })
})

it('options of one host may be given to another', async () => {
  const options = { port: 0, handleSignals: false, shutdownTimeoutMs: 1_000 }
  await expect(createHandler(agent, options as object).shutdown()).resolves.toMatchObject({
    outcome: 'drained',
  })
})

describe('the tables above have', () => {
  it('every public function and every method of the client', () => {
    const entries = { ...entry, ...facilitatorEntry, ...redisEntry, ...sandboxEntry, ...testingEntry }
    const exported = Object.entries(entries).flatMap(([name, value]) =>
      typeof value === 'function' ? [name] : [],
    )
    const methods = methodsOf(SvcClient.prototype).map(name => `SvcClient.${name}`)
    const tables = [functions, promises, answers].flatMap(table => Object.keys(table))
    const missing = [...exported, ...methods].filter(name => ![...tables, ...WITHOUT_OPTIONS].includes(name))
    expect(missing).toEqual([])
  })

  it('every group of options of a server', () => {
    const groupsOf = (table: OptionTable, prefix = ''): string[] =>
      Object.entries(table).flatMap(([name, { table: inner }]) =>
        inner ? [`${prefix}${name}`, ...groupsOf(inner, `${prefix}${name}.`)] : [],
      )
    // A group is tried where a name of it is asked for: `advanced.credit.start` tries `advanced.credit`.
    const tried = GROUPS.map(([, , meant]) => meant.slice(0, meant.lastIndexOf('.')))
    expect(groupsOf(OPTIONS).filter(group => !tried.includes(group as never))).toEqual([])
  })
})

/** Of a class and of those that it extends. Getters are left out. */
function methodsOf(prototype: object): string[] {
  if (prototype === Object.prototype) return []
  const own = Object.entries(Object.getOwnPropertyDescriptors(prototype)).flatMap(([name, { value }]) =>
    typeof value === 'function' && name !== 'constructor' ? [name] : [],
  )
  return [...own, ...methodsOf(Object.getPrototypeOf(prototype))]
}

it.each([undefined, ''])('redisStores says that it has no URL where the variable for it is %j', url => {
  expect(() => redisStores(url as string, { waitReplicas: 1 })).toThrow(/no URL of Redis/)
})
