import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { type RedisServer, startRedis } from './redis-server.js'

/** One Redis for all tests of a file or of a `describe`, emptied before each of them. */
export function emptiedRedis(): { readonly url: string; readonly admin: Redis } {
  let server: RedisServer
  let admin: Redis
  beforeAll(async () => {
    server = await startRedis()
    admin = new Redis(server.url)
  })
  afterAll(async () => {
    admin.disconnect()
    await server.stop()
  })
  beforeEach(() => admin.flushall())
  return {
    get url() {
      return server.url
    },
    get admin() {
      return admin
    },
  }
}
