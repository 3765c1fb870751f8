/** What replicas of one agent share, and what payers of one budget share. @packageDocumentation */
export type { RedisClient } from './adapters/redis/connection.js'
export {
  type RedisHealth,
  type RedisStores,
  type RedisStoresOptions,
  redisStores,
} from './adapters/redis/stores.js'
