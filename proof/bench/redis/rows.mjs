/** Load on ours with its stores on a Redis: beside its own memory, and as several processes that share one. */
import { cpus } from 'node:os'
import { post } from '../load.mjs'
import { keyOf } from '../payments.mjs'
import { together } from '../process.mjs'
import { allPaying, BODY, balanceKeyOf, keyed, REPLAYS, replayOf, same, windowOf } from '../rows.mjs'
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

/**
 * 1, 2 and 4 processes. Each group has a prefix on the Redis: all are paid with the same payments, each group once.
 * Without a Redis each process has its own memory: what a call costs more in company, where nothing is shared.
 */
async function replicas(market, redis) {
  const group = async count => {
    const config = redis && { redis: { url: redis.url, prefix: `${count}:` } }
    const starting = Array.from({ length: count }, () => market.start('ours', config))
    const name = count === 1 ? '1 process' : `${count} processes`
    return { name, server: together(await Promise.all(starting)), redis }
  }
  return Promise.all([1, 2, 4].map(group))
}

/** The same call at each, with headers that each has given out itself. */
async function holding(contenders, path, headersOf) {
  const ready = []
  for (const contender of contenders) {
    const { server } = contender
    ready.push({ ...contender, requests: same(post(server.url, path, BODY, await headersOf(server))) })
  }
  return ready
}

/** A payer's records are on one node of a Cluster, so these payments are by many. */
const PAYERS = Array.from({ length: 48 }, (_, at) => keyOf(`bench payer ${at}`))

/** On one Redis, and on a Cluster of three. */
async function onCluster(market) {
  const redis = await market.redis()
  const cluster = await market.redisCluster()
  const at = place => market.start('ours', { redis: { ...place, prefix: 'svc:' } })
  return [
    { name: 'one Redis', server: await at({ url: redis.url }), redis },
    { name: 'a Cluster of three', server: await at({ nodes: cluster.nodes }), redis: cluster },
  ]
}

async function unpaid(where, contenders) {
  return {
    title: `unpaid call: 402 and a quote, ${where}`,
    expects: 402,
    contenders: (await contenders).map(contender => ({
      ...contender,
      requests: same(post(contender.server.url, '/work', BODY)),
    })),
  }
}

async function paid(market, where, contenders, payers) {
  return {
    title: `paid call, a facilitator that answers at once, ${where}`,
    expects: 200,
    contenders: await allPaying(market, await contenders, payers),
  }
}

/** Each group of servers has a balance; each call has a new key. */
async function onBalance(market, where, contenders) {
  const ready = []
  for (const contender of await contenders) {
    const { server } = contender
    ready.push({ ...contender, requests: keyed(server, '/work', await balanceKeyOf(market, server)) })
  }
  return { title: `call on a balance, ${where}`, expects: 200, contenders: ready }
}

const BESIDE = 'in memory and on Redis'
const SHARED = 'at processes that share a Redis'
const ALONE = 'at processes that share nothing'

export const STORE_ROWS = {
  'redis-unpaid': market => unpaid(BESIDE, both(market)),
  'redis-paid': market => paid(market, BESIDE, both(market)),
  'redis-subscription': async market => ({
    title: `call in a subscription window, ${BESIDE}`,
    expects: 200,
    contenders: await holding(await both(market), '/window', server => windowOf(market, server)),
  }),
  'redis-replay': async market => ({
    title: `replay of an answer that was paid for, ${BESIDE}`,
    expects: 200,
    contenders: await holding(await both(market, REPLAYS), '/work', server => replayOf(market, server)),
  }),
  'redis-balance': market => onBalance(market, BESIDE, both(market, REPLAYS)),
  /** Both with a new key a call, on one Redis. */
  'redis-keyed': async market => {
    const redis = await market.redis()
    const server = await market.start('ours', { ...REPLAYS, redis: { url: redis.url, prefix: 'svc:' } })
    const window = keyed(server, '/calls', await windowOf(market, server, '/calls'))
    const balance = keyed(server, '/work', await balanceKeyOf(market, server))
    const contenders = [
      { name: 'in a counted window, with a key', server, redis, requests: window },
      { name: 'on a balance', server, redis, requests: balance },
    ]
    return { title: 'call on a balance and in a counted window, on Redis', expects: 200, contenders }
  },
  'redis-calls': async market => ({
    title: `call in a counted window, ${BESIDE}`,
    expects: 200,
    contenders: await holding(await both(market), '/calls', server => windowOf(market, server, '/calls')),
  }),
  'cluster-paid': async market =>
    paid(market, 'on one Redis and on a Cluster', await onCluster(market), PAYERS),
  'replicas-unpaid': async market => unpaid(SHARED, replicas(market, await market.redis())),
  'replicas-paid': async market => paid(market, SHARED, replicas(market, await market.redis())),
  'replicas-balance': async market => onBalance(market, SHARED, replicas(market, await market.redis())),
  'alone-unpaid': market => unpaid(ALONE, replicas(market)),
  'alone-paid': market => paid(market, ALONE, replicas(market)),
}

/** Each against the first of its row. */
export function storesTableOf(rows) {
  const heads = [
    '',
    'median',
    'of rounds',
    'CPU each',
    'in Redis',
    'of its main thread',
    'commands',
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
function elsewhere({ rounds, cpuUs, redisUs, besideUs, mainUs, commands }) {
  const [own, inRedis, beside, main, ran] = [cpuUs, redisUs, besideUs, mainUs, commands].map(median)
  const share = (median(rounds) * (own + inRedis + beside)) / (cpus().length * 1e6)
  return [
    inRedis > 0 ? `${number(inRedis)} µs` : '',
    main > 0 ? `${number(main)} µs` : '',
    ran > 0 ? number(ran) : '',
    `${number(beside)} µs`,
    `${Math.round(share * 100)} %`,
  ]
}
