/** Ours as a seller serves it: default options, but for what a row is about. */

import { Cluster } from 'ioredis'
import { createFacilitator } from '../../../dist/src/facilitator.js'
import { serve } from '../../../dist/src/index.js'
import { redisStores } from '../../../dist/src/redis.js'
import { agentOf, endpoint, SERVED } from './agent.mjs'
import { config, ready, work } from './child.mjs'
import { hourlyLimit } from './hourly-limit.mjs'

const { endpoints = 1, stream = false, redis, ownFacilitator = false, options = {} } = config
const others = Array.from({ length: endpoints - 1 }, (_, at) => endpoint(`work-${at + 1}`))
if (stream) {
  const handler = async function* ({ body }) {
    yield work(body)
  }
  others.push(endpoint('stream', { stream, handler }))
}

const agent = agentOf(others)
serve(agent, {
  ...SERVED,
  ...(ownFacilitator && inProcess()),
  stores: redis
    ? redisStores(redis.nodes ? new Cluster(redis.nodes) : redis.url, { prefix: redis.prefix })
    : { rateLimit: hourlyLimit() },
  onReady: ({ port }) => ready(port),
  ...options,
})

function inProcess() {
  const { algodUrl } = config
  const sponsor = { secretKey: Buffer.from(config.sponsorSecretKey, 'base64') }
  const feePerDayMax = Number.MAX_SAFE_INTEGER
  const facilitator = createFacilitator({
    network: 'testnet',
    algodUrl,
    sponsor,
    payTo: [agent.payTo],
    feePerDayMax,
  })
  return { facilitatorUrl: undefined, facilitator, algodUrl }
}
