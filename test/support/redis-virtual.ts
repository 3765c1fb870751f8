/**
 * A real Redis whose time is a number in it: scripts read a key where they would ask for the time, and letting time pass
 * moves that number and the end of every key. What waits for leases elsewhere takes milliseconds here.
 */
import { Redis } from 'ioredis'
import type { Connection } from '../../src/adapters/redis/connection.js'
import type { ServerTime } from '../../src/adapters/redis/server-time.js'
import { startRedis } from './redis-server.js'

/** How each script reads the server's time. */
export const TIME_READ = `local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)`

/** Each world of keys has a clock of its own, found by what all its keys begin with. Without a key it is the last world's. */
const CLOCK_READ = `local clock = 'clock-' .. string.match(KEYS[1] or '', '^[^:]*')
local nowMs = tonumber(redis.call('GET', clock) or 0)`
/** A moment at which a key ends is one of the server's real clock: here it becomes a life from now on. */
const MOMENTS: readonly (readonly [string, string])[] = [
  ["redis.call('PEXPIREAT', name, expiresAtMs)", "redis.call('PEXPIRE', name, expiresAtMs - nowMs)"],
  ["redis.call('PEXPIRETIME', name)", "nowMs + redis.call('PTTL', name)"],
]

function atVirtualTime(lua: string): string {
  if (lua.includes(TIME_READ)) return lua.replace(TIME_READ, CLOCK_READ)
  return MOMENTS.reduce((read, [real, virtual]) => read.replace(real, virtual), `${CLOCK_READ}\n${lua}`)
}

const START_MS = Date.UTC(2026, 0, 1)

const ADVANCE = /* lua */ `
redis.call('SET', 'clock-', redis.call('INCRBY', KEYS[1], ARGV[2]))
for _, name in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do
  local leftMs = redis.call('PTTL', name)
  if leftMs > 0 then redis.call('PEXPIRE', name, leftMs - ARGV[2]) end
end
`

/** Keys and time of one test. */
export interface World {
  readonly prefix: string
  /** As the stores take one. */
  readonly connection: Connection
  readonly time: ServerTime
  advance(ms: number): Promise<void>
  /** Every key but the clock, without the prefix. */
  keys(): Promise<readonly string[]>
}

/** The server stands still for so long between a caller's look at the clock and its script. */
export function standingStill({ connection, advance }: World, still: { ms: number }): Connection {
  return {
    ...connection,
    script: (of, lua) => {
      const run = connection.script(of, lua)
      return async (keys, args) => {
        await advance(still.ms)
        return run(keys, args)
      }
    },
  }
}

export interface VirtualRedis {
  readonly client: Redis
  world(): Promise<World>
  /** Forgets every world. */
  reset(): Promise<void>
  stop(): Promise<void>
}

/** What becomes of each script on its way to the server; itself, unless a test is about another. */
export type Edit = (lua: string) => string

export async function virtualRedis(edit: Edit = lua => lua): Promise<VirtualRedis> {
  const server = await startRedis({ settings: ['save ""'] })
  const client = new Redis(server.url)
  let worlds = 0
  const loaded = new Map<string, Promise<string>>()
  /** Sent and hashed once: each is as long as some hundred answers. */
  const hashOf = (lua: string) => {
    const hash = loaded.get(lua) ?? (client.script('LOAD', atVirtualTime(edit(lua))) as Promise<string>)
    loaded.set(lua, hash)
    return hash
  }
  const connection: Connection = {
    client,
    commandTimeoutMs: 2_000,
    send: command => command(client),
    script: (_, lua) => async (keys, args) =>
      client.callBuffer('EVALSHA', await hashOf(lua), keys.length, ...keys, ...args),
    isUp: () => true,
    onUp: () => {},
    close: async () => {},
  }
  return {
    client,
    async world() {
      const prefix = `w${worlds++}:`
      const clock = `clock-${prefix.slice(0, -1)}`
      await client.mset(clock, START_MS, 'clock-', START_MS)
      return {
        prefix,
        connection,
        time: { now: async () => Number(await client.get(clock)), forget: () => {} },
        async advance(ms) {
          await client.eval(ADVANCE, 1, clock, prefix, Math.round(ms))
        },
        async keys() {
          return (await client.keys(`${prefix}*`)).map(key => key.slice(prefix.length)).sort()
        },
      }
    },
    async reset() {
      await client.flushall()
    },
    async stop() {
      client.disconnect()
      await server.stop()
    },
  }
}
