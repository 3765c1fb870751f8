/**
 * A budget that several paying processes share: what each spent in the last 24 hours, by the server's clock. Promise:
 * see the port. What is spent within one second is one entry, so that a day never holds more than 86 400 of them.
 */
import type { SpendLedger } from '../../ports/spend.js'
import type { Connection } from './connection.js'

const DAY_MS = 86_400_000

/** Lua counts in doubles, exactly up to here: nine billion USDC. */
const EXACT_MAX = BigInt(Number.MAX_SAFE_INTEGER)

/** KEYS: entries by time, amounts by entry. ARGV: windowMs, id, amount. Each script answers whether, and the sum. */
const ENTRIES = /* lua */ `
local entries, amounts = KEYS[1], KEYS[2]
local windowMs, id, amount = tonumber(ARGV[1]), 'reserved:' .. ARGV[2], ARGV[3]
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)

local function sum()
  return tonumber(redis.call('HGET', amounts, 'sum') or '0')
end

local function add(entry, more)
  redis.call('HINCRBY', amounts, 'sum', more)
  redis.call('HINCRBY', amounts, entry, more)
  redis.call('ZADD', entries, nowMs, entry)
  redis.call('PEXPIRE', entries, windowMs)
  redis.call('PEXPIRE', amounts, windowMs)
end

local function forget(entry)
  local counted = redis.call('HGET', amounts, entry)
  if not counted then return end
  redis.call('HINCRBY', amounts, 'sum', '-' .. counted)
  redis.call('HDEL', amounts, entry)
  redis.call('ZREM', entries, entry)
end

for _, entry in ipairs(redis.call('ZRANGEBYSCORE', entries, '-inf', nowMs - windowMs)) do forget(entry) end
`

const RESERVE = /* lua */ `${ENTRIES}
local cap = ARGV[4]
if redis.call('HEXISTS', amounts, id) == 0 then
  if cap ~= '' and sum() + tonumber(amount) > tonumber(cap) then return { 0, sum() } end
  add(id, amount)
end
return { 1, sum() }
`

const COMMIT = /* lua */ `${ENTRIES}
forget(id)
add('spent:' .. time[1], amount)
return { 1, sum() }
`

const RELEASE = /* lua */ `${ENTRIES}
forget(id)
return { 1, sum() }
`

export interface RedisSpendOptions {
  /** Payers of one budget name it alike. */
  readonly budget: string
  /** What the port calls 24 hours; shorter where a test cannot wait for a day. @default 86400000 */
  readonly windowMs?: number
}

export function redisSpendLedger(
  connection: Connection,
  prefix: string,
  { budget, windowMs = DAY_MS }: RedisSpendOptions,
): SpendLedger {
  const place = `${prefix}{spend:${encodeURIComponent(budget)}}`
  const keys = [`${place}:entries`, `${place}:amounts`]
  let sum = 0n
  const move = (name: string, lua: string) => {
    const script = connection.script(name, lua)
    return async (id: string, amount: bigint, ...more: string[]): Promise<boolean> => {
      if (amount > EXACT_MAX)
        throw new RangeError(`an amount of ${amount} base units cannot be counted exactly`)
      const reply = (await script(keys, [windowMs, id, String(amount), ...more])) as [number, number]
      sum = BigInt(reply[1])
      return reply[0] === 1
    }
  }
  const reserve = move('svcReserve', RESERVE)
  const commit = move('svcCommit', COMMIT)
  const release = move('svcRelease', RELEASE)
  return {
    reserve({ id, amount }, cap) {
      return reserve(id, amount, cap === undefined ? '' : String(cap < EXACT_MAX ? cap : EXACT_MAX))
    },
    commit: async ({ id, amount }) => void (await commit(id, amount)),
    release: async ({ id, amount }) => void (await release(id, amount)),
    get spentBaseUnits() {
      return sum
    },
  }
}
