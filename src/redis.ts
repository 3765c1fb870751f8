/** What replicas of one agent share, and what payers of one budget share. @packageDocumentation */

export {
  type RedisHealth,
  type RedisStores,
  type RedisStoresOptions,
  redisStores,
} from './adapters/redis/all-redis-stores.js'
export type { RedisClient } from './adapters/redis/connection.js'
