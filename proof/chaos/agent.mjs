/** One replica: an agent in a process of its own, on a shared Redis. Says on stdout when it listens; ends by a signal. */
import { randomUUID } from 'node:crypto'
import { defineAgent, defineEndpoint, serve } from '../../dist/src/index.js'
import { redisStores } from '../../dist/src/redis.js'

const {
  payTo,
  redisUrl,
  commandTimeoutMs = 1_000,
  waitReplicas = 0,
  handlerMs = 0,
  options,
} = JSON.parse(process.argv[2])

/** `run` names the handler's run, so that two runs never pass for one answer. */
const answer = defineEndpoint({
  name: 'answer',
  price: '$0.01',
  timeout: 1_000,
  async handler({ body }) {
    if (handlerMs > 0) await new Promise(resolve => setTimeout(resolve, Math.random() * handlerMs))
    return { question: body.question, run: randomUUID() }
  },
})

const agent = defineAgent({
  name: 'Replica',
  handle: 'test-agent',
  description: 'One of several that share a Redis.',
  payTo,
  network: 'testnet',
  endpoints: [answer],
})

/** As many runs as a long test has calls: their paths tell which corners it has been in. */
const stores = redisStores(redisUrl, { commandTimeoutMs, runsCapacity: 100_000, waitReplicas })
serve(agent, {
  port: 0,
  host: '127.0.0.1',
  // Longer than any run: every key is asked again at its end, and one whose window has passed is rightly charged anew.
  idempotency: { onLostResponse: 'replay', windowMs: 24 * 3_600_000 },
  stores,
  ...options,
  onReady: ({ port }) => console.log(JSON.stringify({ port })),
})
