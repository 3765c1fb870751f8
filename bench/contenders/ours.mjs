/** Ours as a seller serves it: default options, but for what a row is about. */

import { memoryRateLimit } from '../../dist/src/adapters/memory/rate-limit.js'
import { serve } from '../../dist/src/index.js'
import { redisStores } from '../../dist/src/redis.js'
import { agentOf, endpoint, SERVED } from './agent.mjs'
import { config, ready, work } from './child.mjs'

const { endpoints = 1, stream = false, redis, options = {} } = config
const others = Array.from({ length: endpoints - 1 }, (_, at) => endpoint(`work-${at + 1}`))
if (stream) {
  const handler = async function* ({ body }) {
    yield work(body)
  }
  others.push(endpoint('stream', { stream, handler }))
}

serve(agentOf(others), {
  ...SERVED,
  stores: redis
    ? redisStores(redis.url, { prefix: redis.prefix })
    : // A minute's window would end, and let somebody in, while a row is measured.
      { rateLimit: memoryRateLimit({ windowMs: 3_600_000 }) },
  onReady: ({ port }) => ready(port),
  ...options,
})
