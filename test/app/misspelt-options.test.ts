/** An option that went unread would leave its default in force: a misspelt one is refused, wherever options are given. */
import { describe, expect, it } from 'vitest'
import { createFacilitator, facilitatorApp } from '../../src/facilitator.js'
import {
  createHandler,
  createServer,
  defineAgent,
  defineEndpoint,
  type EndpointOptions,
  SvcClient,
  serve,
} from '../../src/index.js'
import { redisStores } from '../../src/redis.js'
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

const define = (more: object) => defineEndpoint({ ...ENDPOINT, ...more } as EndpointOptions)
const selling = (window: object) =>
  defineEndpoint({
    name: 'feed',
    subscription: { price: '$1', period: '1d', ...window },
    handler: () => 'done',
  })
const agent = defineAgent(AGENT)

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
  SvcClient: [
    options => new SvcClient(options),
    'invalid_options',
    { maxPerday: 'maxPerDay', mnemonik: 'mnemonic', reciptsMax: 'receiptsMax' },
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
}

describe('a misspelt option is refused, and the nearest name is said', () => {
  const cases = Object.entries(functions).flatMap(([name, [call, code, names]]) =>
    Object.entries(names).map(([misspelt, meant]) => ({ name, call, code, misspelt, meant })),
  )
  it.each(cases)('$misspelt of $name', ({ call, code, misspelt, meant }) => {
    const words = new RegExp(`unknown option '[a-zA-Z.]*${misspelt}'. Did you mean '${meant}'\\?`)
    refusedWith(code, () => call({ [misspelt]: 1 }), words)
  })

  it.each([
    ['rateLimit', { perminute: 1 }, 'rateLimit.perMinute'],
    ['idempotency', { windowMS: 1 }, 'idempotency.windowMs'],
    ['advanced', { credit: { strat: 1 } }, 'advanced.credit.start'],
    ['advanced', { tasks: { maxInputByte: 1 } }, 'advanced.tasks.maxInputBytes'],
    ['subscriptions', { sotre: {} }, 'subscriptions.store'],
    ['advanced', { timeouts: { verify: 1 } }, 'advanced.timeouts.verifyMs'],
    ['registry', { agentID: 1 }, 'registry.agentId'],
    ['webhooks', [{ ulr: 'http://127.0.0.1' }], 'webhooks.url'],
    ['audit', { tokens: 'x'.repeat(16) }, 'audit.token'],
    ['journal', { pth: 'x' }, 'journal.path'],
    ['facilitatorUrl', { ulr: 'http://127.0.0.1' }, 'facilitatorUrl.url'],
  ])('within %s: %j', (group, value, meant) => {
    const words = new RegExp(`Did you mean '${meant}'\\?`)
    refusedWith('invalid_options', () => createHandler(agent, { [group]: value }), words)
  })

  it('and a limit of one call, before anything is sent', async () => {
    const client = new SvcClient({ network: 'testnet', fetchImpl: () => Promise.reject(new Error('sent')) })
    const options = { maxPrise: '$0.01' } as object
    await expect(client.call('http://127.0.0.1:1', {}, options)).rejects.toMatchObject({
      code: 'invalid_options',
      message: "unknown option 'maxPrise'. Did you mean 'maxPrice'?",
    })
  })

  it('where no name is near, none is said', () => {
    refusedWith('invalid_options', () => createHandler(agent, { colour: 'red' } as object), /'colour'$/)
  })
})

it('options of one host may be given to another', async () => {
  const options = { port: 0, handleSignals: false, shutdownTimeoutMs: 1_000 }
  await expect(createHandler(agent, options as object).shutdown()).resolves.toMatchObject({
    outcome: 'drained',
  })
})
