/** What a row needs besides load: servers that share one facilitator, payments for them, a Redis. */
import { paymentHeader, paymentPool, paymentSigner, quoteOf, SPONSOR_SECRET_KEY } from './payments.mjs'
import { limitCpu, start } from './process.mjs'
import { startCluster, startRedis } from './redis/server.mjs'

/** The contenders whose CPU profile is asked for. */
const OURS = new Set(['ours', 'fetch', 'gate', 'client-ours'])

/** Opens one, and stops whatever was started in it, also where the row fails. */
export async function inMarket(bench, row) {
  const opened = []
  try {
    return await row(marketOf(bench, opened))
  } finally {
    await Promise.all(opened.map(server => server.stop()))
  }
}

function marketOf({ facilitator, parties, algod, payTo, profile, cores, notes }, opened) {
  const payments = (quote, payers) => paymentPool(quote, algod, payers)
  /** What a contender must know of its surroundings. */
  const place = { facilitatorUrl: facilitator.url, payTo, sponsorSecretKey: SPONSOR_SECRET_KEY }
  return {
    place,
    parties,
    payments,
    sign: paymentSigner(algod),
    async start(file, config) {
      const profiled = profile !== undefined && OURS.has(file)
      const execArgv = profiled ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : []
      const server = await start(file, { ...place, ...config }, execArgv)
      const free = cores === undefined ? () => {} : limitCpu(server.pid, cores)
      opened.push({ stop: () => server.stop().then(free) })
      return server
    },
    async redis() {
      const redis = await startRedis()
      opened.push(redis)
      notes.add(`Redis ${redis.version}: appendonly yes, appendfsync everysec, no maxmemory.`)
      return redis
    },
    async redisCluster() {
      const cluster = await startCluster()
      opened.push(cluster)
      return cluster
    },
    /** The header of one payment for what a server asks. */
    async payOnce(server, path, body) {
      const quote = await quoteOf(server.url, path, body)
      const [payload] = await payments(quote)(1)
      return paymentHeader(payload, quote)
    },
  }
}
