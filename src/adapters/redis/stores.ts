/** The stores that replicas share, on one Redis. */
import { asGiven, invalid, type Option, positive, readOptions, whole } from '../../domain/option-checks.js'
import type { Runs } from '../../ports/call-observer.js'
import type { ChargeStore } from '../../ports/charge-store.js'
import { systemClock } from '../../ports/clock.js'
import type { Counters } from '../../ports/counters.js'
import type { Logger } from '../../ports/logger.js'
import type { SpendLedger } from '../../ports/spend-ledger.js'
import type { CountingSubscriptionStore } from '../../ports/subscriptions.js'
import type { TaskStore } from '../../ports/tasks.js'
import { redisChargeStore } from './charge-store.js'
import { connect, durabilityWarnings, type RedisClient, warnOfRedis } from './connection.js'
import { redisCounters } from './counters.js'
import { checkedPrefix, shortHash } from './key-names.js'
import { redisRuns } from './recent-runs.js'
import { serverTime } from './server-time.js'
import { redisSpendLedger } from './spend-ledger.js'
import { redisSubscriptions } from './subscriptions.js'
import { redisTasks } from './task-store.js'
import { replicated } from './wait-for-replicas.js'

/** How keys are named, and how long Redis may take. */
export interface RedisStoresOptions {
  /** The beginning of every key. Two agents with one share a list of runs, and the bound of waiting tasks. @default 'svc:' */
  readonly prefix?: string
  /** Milliseconds after which a command counts as unanswered, and the call as refused. @default 2000 */
  readonly commandTimeoutMs?: number
  /**
   * How many replicas of Redis must confirm a record before money moves for it. Where that is every replica that a failover
   * may promote, a failover charges nobody twice and loses no answer. Where fewer confirm in time, calls are refused and
   * not charged. It opens a second connection, and is not for a Cluster. @default 0
   */
  readonly waitReplicas?: number
  /** How many runs are kept, for all replicas together. @default 100 */
  readonly runsCapacity?: number
  /** The budget of `spend`. Payers that name the same budget share it, on every network. @default 'default' */
  readonly budget?: string
  /** Gets a warning of a Redis that cannot be reached, and at each connection of settings that endanger records. @default warnings of the process */
  readonly logger?: Logger
}

const OPTIONS = {
  prefix: (given = 'svc:') => checkedPrefix(given as string),
  commandTimeoutMs: positive(2_000),
  waitReplicas: whole(0, 0),
  runsCapacity: positive(100),
  budget: (given = 'default') => given as string,
  logger: asGiven<Logger | undefined>(),
} satisfies Record<keyof RedisStoresOptions, Option<unknown>>

/** One store for each port, on one Redis. */
export interface RedisStores {
  /** Idempotency keys and payments. */
  readonly charges: ChargeStore
  /** Subscription windows. */
  readonly subscriptions: CountingSubscriptionStore
  /** The counts of the rate limit. */
  readonly rateLimit: Counters
  /** How many runs each payer may have that are not settled. */
  readonly credit: Counters
  /** Tasks of A2A that wait for their payment. */
  readonly tasks: TaskStore
  /** The last calls of all replicas. */
  readonly runs: Runs
  /** For the client: `new SvcClient({ mnemonic, maxPrice, maxPerDay, ledger: stores.spend })`. */
  readonly spend: SpendLedger
  /** Resolves when Redis answers. A server's `/ready` asks by itself. */
  ping(): Promise<void>
  /** The health of Redis, for people and dashboards. Never rejects. */
  health(): Promise<RedisHealth>
  /** Ends the connections. */
  close(): Promise<void>
}

/** Whether Redis answers, how fast, and which of its settings endanger stored records. */
export type RedisHealth =
  | { readonly ok: true; readonly roundTripMs: number; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly error: string }

/**
 * Stores for `serve({ stores })`, on connections of their own. Of a client (single, Sentinel or Cluster) they use the address
 * and the credentials. The function does not wait for Redis; until Redis answers, calls that need it are refused.
 *
 * @example
 * serve(agent, { stores: redisStores('redis://localhost:6379') })
 *
 * @throws SvcError `invalid_options`
 * @throws Error for a prefix with braces or white space, and for `waitReplicas` with a Cluster.
 */
export function redisStores(redisOrUrl: RedisClient | string, options: RedisStoresOptions = {}): RedisStores {
  // A variable of the environment that is not set: ioredis would take an empty text for the Redis of this machine.
  if (!redisOrUrl) throw invalid('redisStores has no URL of Redis, such as redis://localhost:6379')
  const read = readOptions(options, OPTIONS)
  const { prefix, commandTimeoutMs, waitReplicas } = read
  if (waitReplicas > 0 && typeof redisOrUrl !== 'string' && redisOrUrl.isCluster)
    throw new Error('waitReplicas is not for a Redis Cluster: see docs/storage.md')
  const connection = connect(redisOrUrl, commandTimeoutMs)
  const waiting =
    waitReplicas > 0 ? replicated(connect(redisOrUrl, commandTimeoutMs), waitReplicas) : undefined
  const time = serverTime(connection)
  warnOfRedis(connection, waitReplicas, read.logger)
  const ping = async () => void (await connection.send(redis => redis.ping()))
  return {
    charges: redisChargeStore(connection, prefix, time, waiting),
    subscriptions: redisSubscriptions(connection, prefix, time, waiting),
    rateLimit: redisCounters(connection, key => `${prefix}limit:${key}`),
    // Hashed: where no payer can be read, it is the caller's network address.
    credit: redisCounters(connection, payer => `${prefix}unsettled:${shortHash(payer)}`),
    tasks: redisTasks(connection, prefix, time, waiting),
    runs: redisRuns(connection, prefix, read.runsCapacity),
    spend: redisSpendLedger(connection, prefix, { budget: read.budget }, waiting),
    ping,
    async health() {
      const sinceMs = systemClock.monotonic()
      try {
        await ping()
        const roundTripMs = systemClock.monotonic() - sinceMs
        return { ok: true, roundTripMs, warnings: await durabilityWarnings(connection, waitReplicas) }
      } catch (cause) {
        return { ok: false, error: cause instanceof Error ? cause.message : String(cause) }
      }
    },
    async close() {
      await Promise.all([connection.close(), waiting?.close()])
    },
  }
}
