/**
 * One replica, as it is deployed: it finds Redis through two Sentinels. `build` is the folder of the compiled product, so that a
 * build with a planted fault can be sold from. Says on stdout when it listens; ends by a signal.
 */
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'

const { build, payTo, sentinels, natMap, waitReplicas, price, port, options, commandTimeoutMs } = JSON.parse(
  process.argv[2],
)
const { defineAgent, defineEndpoint, serve } = await import(`${build}/src/index.js`)
const { redisStores } = await import(`${build}/src/redis.js`)

/** Of all deploys, in base units: no call costs more. */
const LEAST_PRICE = 10_000
const usd = units => `$${(units / 1_000_000).toFixed(6)}`

const work = () => new Promise(resolve => setTimeout(resolve, Math.random() * 150))

/** `run` names the handler's run, so that two runs never pass for one answer. */
const answer = defineEndpoint({
  name: 'answer',
  price,
  timeout: 2_000,
  async handler({ body }) {
    await work()
    if (body.fail) return Response.json({ error: { code: 'asked_to_fail' } }, { status: 500 })
    return { question: body.question, run: randomUUID() }
  },
})

/** Costs what its handler says, and says it in its answer too. */
const metered = defineEndpoint({
  name: 'metered',
  price,
  only: 'balance',
  timeout: 2_000,
  async handler({ body, charge }) {
    await work()
    if (body.fail) return Response.json({ error: { code: 'asked_to_fail' } }, { status: 500 })
    const cost = Math.floor(Math.random() * LEAST_PRICE)
    charge(usd(cost))
    return { question: body.question, run: randomUUID(), cost }
  },
})

const pass = defineEndpoint({
  name: 'pass',
  subscription: { price: '$0.05', period: '1h', calls: 5 },
  timeout: 2_000,
  async handler({ body }) {
    await work()
    return { question: body.question, run: randomUUID() }
  },
})

const tale = defineEndpoint({
  name: 'tale',
  price,
  stream: true,
  timeout: 5_000,
  async *handler({ body, charge }) {
    const run = randomUUID()
    let cost = 0
    for (const part of ['once', 'upon', 'a time']) {
      await work()
      cost += LEAST_PRICE / 4
      charge(usd(cost))
      yield JSON.stringify({ question: body.question, run, part, cost })
    }
  },
})

const agent = defineAgent({
  name: 'Seller',
  handle: 'black-box',
  description: 'One of three replicas that share a Redis.',
  payTo,
  network: 'testnet',
  endpoints: [answer, metered, pass, tale],
  balance: { amounts: ['$0.05'], period: '1h' },
})

const redis = new Redis({ sentinels, name: 'svc', natMap })
redis.on('error', () => {})
const stores = redisStores(redis, { commandTimeoutMs, waitReplicas })
serve(agent, {
  port,
  host: '127.0.0.1',
  trustProxy: 1,
  // Longer than any run: each key is asked again at its end.
  idempotency: { onLostResponse: 'replay', windowMs: 24 * 3_600_000 },
  keepAnswers: '1h',
  stores,
  shutdownTimeoutMs: 4_000,
  logger: { debug() {}, info() {}, warn() {}, error() {} },
  ...options,
  onReady: () => console.log(JSON.stringify({ port })),
})
