/** Load on ours with its stores on a Redis: beside its own memory, and as several processes that share one. */
import { cpus } from 'node:os'
import { post } from '../load.mjs'
import { together } from '../process.mjs'
import { allPaying, BODY, REPLAYS, replayOf, same, windowOf } from '../rows.mjs'
import { against, figures, markdown, median, number, times } from '../table.mjs'

/** Ours twice: what it keeps is in its memory, and in a Redis. */
async function both(market, config) {
  const redis = await market.redis()
  const place = { url: redis.url, prefix: 'svc:' }
  return [
    { name: 'memory', server: await market.start('ours', config) },
    { name: 'Redis', server: await market.start('ours', { ...config, redis: place }), redis },
  ]
}

/** 1, 2 and 4 processes on one Redis. Each group has a prefix: all are paid with the same payments, each group once. */
async function replicas(market) {
  const redis = await market.redis()
  const group = async count => {
    const place = { url: redis.url, prefix: `${count}:` }
    const starting = Array.from({ length: count }, () => market.start('ours', { redis: place }))
    const name = count === 1 ? '1 process' : `${count} processes`
    return { name, server: together(await Promise.all(starting)), redis }
  }
  return [await group(1), await group(2), await group(4)]
}

const asking = contenders =>
  contenders.map(contender => ({ ...contender, requests: same(post(contender.server.url, '/work', BODY)) }))

/** The same call at each, with headers that each has given out itself. */
async function holding(contenders, path, headersOf) {
  const ready = []
  for (const contender of contenders) {
    const { server } = contender
    ready.push({ ...contender, requests: same(post(server.url, path, BODY, await headersOf(server))) })
  }
  return ready
}

const UNPAID = 'unpaid call: 402 and a quote'
const PAID = 'paid call, a facilitator that answers at once'

export const STORE_ROWS = {
  'redis-unpaid': async market => ({
    title: UNPAID,
    expects: 402,
    contenders: asking(await both(market)),
  }),
  'redis-paid': async market => ({
    title: PAID,
    expects: 200,
    contenders: await allPaying(market, await both(market)),
  }),
  'redis-subscription': async market => ({
    title: 'call in a subscription window',
    expects: 200,
    contenders: await holding(await both(market), '/window', server => windowOf(market, server)),
  }),
  'redis-replay': async market => ({
    title: 'replay of an answer that was paid for',
    expects: 200,
    contenders: await holding(await both(market, REPLAYS), '/work', server => replayOf(market, server)),
  }),
  'replicas-unpaid': async market => ({
    title: `${UNPAID}, at processes that share a Redis`,
    expects: 402,
    contenders: asking(await replicas(market)),
  }),
  'replicas-paid': async market => ({
    title: `${PAID}, at processes that share a Redis`,
    expects: 200,
    contenders: await allPaying(market, await replicas(market)),
  }),
}

/** Each against the first of its row. */
export function storesTableOf(rows) {
  const heads = [
    '',
    'median',
    'of rounds',
    'CPU each',
    'in Redis',
    'beside',
    'of the machine',
    'against the first',
    'by CPU',
  ]
  return markdown(heads, rows.flatMap(linesOf))
}

function linesOf({ title, unit, contenders }) {
  const [first, ...others] = contenders
  const own = contender => [contender.name, ...figures(contender, unit), ...elsewhere(contender)]
  return [
    [`**${title}**`],
    own(first),
    ...others.map(other => {
      const { ratio, spread } = against(other, first)
      const byCpu = median(first.cpuUs) / median(other.cpuUs)
      return [...own(other), `${times(ratio)} (${spread})`, times(byCpu)]
    }),
  ]
}

/** CPU that a call takes outside of the servers, and how much of all cores it took everywhere. */
function elsewhere({ rounds, cpuUs, redisUs, besideUs }) {
  const [own, inRedis, beside] = [cpuUs, redisUs, besideUs].map(median)
  const share = (median(rounds) * (own + inRedis + beside)) / (cpus().length * 1e6)
  return [inRedis > 0 ? `${number(inRedis)} µs` : '', `${number(beside)} µs`, `${Math.round(share * 100)} %`]
}
