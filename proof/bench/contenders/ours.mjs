/** Ours as a seller serves it: default options, but for what a row is about. */

import { serve } from '@svc/sdk'
import { createFacilitator } from '@svc/sdk/facilitator'
import { redisStores } from '@svc/sdk/redis'
import { Cluster } from 'ioredis'
import { Pool } from 'undici'
import { agentOf, endpoint, SERVED } from './agent.mjs'
import { config, PRICE, ready, work } from './child.mjs'
import { hourlyLimit } from './hourly-limit.mjs'

const { endpoints = 1, stream = false, upstream, redis, ownFacilitator = false, options = {} } = config
const others = Array.from({ length: endpoints - 1 }, (_, at) => endpoint(`work-${at + 1}`))
if (stream) {
  const handler = async function* ({ body }) {
    yield work(body)
  }
  others.push(endpoint('stream', { stream, handler }))
}
if (upstream) {
  const terms = { price: undefined, subscription: { price: PRICE, period: '30d' } }
  const asks = { input: undefined, bodyType: 'bytes', handler: asksUpstream(upstream) }
  const forwards = { input: undefined, handler: undefined, upstream: `${upstream}/work` }
  others.push(endpoint('asks', asks), endpoint('asks-window', { ...asks, ...terms }))
  others.push(endpoint('forwards', forwards), endpoint('forwards-window', { ...forwards, ...terms }))
}

/** What a seller would write without `upstream`, with the same undici. */
function asksUpstream(url) {
  const pool = new Pool(url, { connections: 512 })
  return async ({ body, signal }) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await pool.request({ path: '/work', method: 'POST', headers, body, signal })
    if (answer.statusCode !== 200) throw new Error(`the upstream answered ${answer.statusCode}`)
    const bytes = await answer.body.arrayBuffer()
    return new Response(bytes, { headers: { 'content-type': answer.headers['content-type'] } })
  }
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
