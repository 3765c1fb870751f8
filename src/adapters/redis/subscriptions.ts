/** Each window is one key, which Redis deletes at its end: a string, or a hash where it has a count of calls. */
import type { SubscriptionRecord, SubscriptionStore, Taken } from '../../ports/subscriptions.js'
import type { Connection } from './connection.js'
import { moveInTime, serverTime } from './server-time.js'

export const FIND = /* lua */ `
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local name = KEYS[1]
local kind = redis.call('TYPE', name).ok
local window

if kind == 'hash' then
  local stored = redis.call('HMGET', name, 'endpoint', 'expiresAtMs', 'unused', 'reserved', 'lapsesMs')
  window = {
    endpoint = stored[1],
    expiresAtMs = stored[2],
    unused = tonumber(stored[3]),
    reserved = tonumber(stored[4]),
    lapsesMs = tonumber(stored[5]),
  }
end

-- Walks the reservations only when one of them may have lapsed. A lapsed one stays, because its process may only be suspended:
-- what it delivers later is counted.
local function freeLapsed()
  if window.reserved == 0 or nowMs < window.lapsesMs then return end
  window.reserved, window.lapsesMs = 0, tonumber(window.expiresAtMs)
  local fields = redis.call('HGETALL', name)
  for at = 1, #fields, 2 do
    local leaseEndsMs = fields[at]:sub(1, 2) == 't:' and tonumber(fields[at + 1]) or 0
    if leaseEndsMs > nowMs then
      window.reserved = window.reserved + 1
      window.lapsesMs = math.min(window.lapsesMs, leaseEndsMs)
    elseif leaseEndsMs > 0 then
      redis.call('HSET', name, fields[at], 0)
    end
  end
  redis.call('HSET', name, 'reserved', window.reserved, 'lapsesMs', window.lapsesMs)
end

local function left()
  freeLapsed()
  return math.max(0, window.unused - window.reserved)
end

-- Deletes first: a Redis without memory refuses a script only before its first change.
local function drop(token)
  local leaseEndsMs = redis.call('HGET', name, 't:' .. token)
  if not leaseEndsMs then return false end
  redis.call('HDEL', name, 't:' .. token)
  if leaseEndsMs ~= '0' then window.reserved = redis.call('HINCRBY', name, 'reserved', -1) end
  return true
end
`

/** endpoint, expiresAtMs, and callsLeft where the window has a count */
export const SELL = /* lua */ `
local name, endpoint, expiresAtMs, callsLeft = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
if redis.call('EXISTS', name) == 1 then
  -- Sets the same expiry again. It must be a write: from Redis 7.2 on, WAIT waits for the last write of its connection alone.
  expiresAtMs = redis.call('PEXPIRETIME', name)
elseif callsLeft then
  redis.call('HSET', name, 'endpoint', endpoint, 'expiresAtMs', expiresAtMs, 'unused', callsLeft, 'reserved', 0, 'lapsesMs', 0)
else
  redis.call('SET', name, expiresAtMs .. ' ' .. endpoint)
end
redis.call('PEXPIREAT', name, expiresAtMs)
`

/** -> endpoint, expiresAtMs, callsLeft */
export const LOOK = /* lua */ `${FIND}
return window and { window.endpoint, window.expiresAtMs, left() }
`

/** deadlineMs, endpoint, token, leaseMs -> the verdict, and what belongs to it. */
export const TAKE = /* lua */ `${FIND}
if nowMs > tonumber(ARGV[1]) then return { 'late', tostring(nowMs) } end
if kind == 'string' then return { 'uncounted', redis.call('GET', name) } end
if not window or window.endpoint ~= ARGV[2] or nowMs >= tonumber(window.expiresAtMs) then return { 'none' } end
local token = 't:' .. ARGV[3]
local callsLeft = left()
if tonumber(redis.call('HGET', name, token) or 0) > 0 then return { 'taken', callsLeft } end
if callsLeft < 1 then return { 'usedUp' } end
local leaseEndsMs = nowMs + tonumber(ARGV[4])
redis.call('HSET', name, token, leaseEndsMs, 'reserved', window.reserved + 1, 'lapsesMs', math.min(window.lapsesMs, leaseEndsMs))
return { 'taken', callsLeft - 1 }
`

/** token */
export const USE = /* lua */ `${FIND}
if window and drop(ARGV[1]) then redis.call('HINCRBY', name, 'unused', -1) end
`

/** token -> callsLeft */
export const GIVE_BACK = /* lua */ `${FIND}
if not window then return nil end
drop(ARGV[1])
return left()
`

export function redisSubscriptions(
  connection: Connection,
  prefix: string,
  time = serverTime(connection),
  /** The connection of a sale, which must survive a failover before it is paid for. */
  replicated: Pick<Connection, 'script'> = connection,
) {
  const keyOf = (id: string) => `${prefix}window:${id}`
  const sell = replicated.script('svcWindowSell', SELL)
  const look = connection.script('svcWindowLook', LOOK)
  const take = connection.script('svcWindowTake', TAKE)
  const use = connection.script('svcWindowUse', USE)
  const giveBack = connection.script('svcWindowGiveBack', GIVE_BACK)

  async function counted(id: string): Promise<SubscriptionRecord | undefined> {
    const stored = (await look([keyOf(id)], [])) as readonly [Buffer, Buffer, number] | null
    if (stored === null) return undefined
    const [endpoint, expiresAtMs, callsLeft] = stored
    return { endpoint: String(endpoint), expiresAtMs: Number(expiresAtMs), callsLeft }
  }

  return {
    async get(id) {
      try {
        const stored = await connection.send(redis => redis.get(keyOf(id)))
        return stored === null ? undefined : readUncounted(stored)
      } catch (cause) {
        if (cause instanceof Error && cause.message.startsWith('WRONGTYPE')) return counted(id)
        throw cause
      }
    },
    async putIfAbsent(id, { endpoint, expiresAtMs, callsLeft }) {
      const counted = callsLeft === undefined ? [] : [callsLeft]
      await sell([keyOf(id)], [endpoint, Math.ceil(expiresAtMs), ...counted])
    },
    now: time.now,
    /** Does nothing: Redis deletes windows by itself. */
    sweep() {},
    async delete(id) {
      await connection.send(redis => redis.del(keyOf(id)))
    },
    async take(id, { endpoint, token, leaseMs }) {
      const reply = await moveInTime(connection, time, deadlineMs =>
        take([keyOf(id)], [deadlineMs, endpoint, token, leaseMs]),
      )
      return readTaken(reply as readonly [Buffer, (Buffer | number)?], endpoint)
    },
    async use(id, token) {
      await use([keyOf(id)], [token])
    },
    async giveBack(id, token) {
      return (await giveBack([keyOf(id)], [token])) as number | null
    },
  } satisfies SubscriptionStore
}

/** A text of at most 44 bytes has one place in Redis's memory, and a longer one has two: a fifth of what a window takes. */
function readUncounted(stored: string): SubscriptionRecord {
  const space = stored.indexOf(' ')
  return { endpoint: stored.slice(space + 1), expiresAtMs: Number(stored.slice(0, space)) }
}

function readTaken([verdict, rest]: readonly [Buffer, (Buffer | number)?], endpoint: string): Taken {
  switch (String(verdict)) {
    case 'taken':
      return { verdict: 'taken', callsLeft: Number(rest) }
    case 'usedUp':
      return { verdict: 'usedUp' }
    case 'uncounted':
      return readUncounted(String(rest)).endpoint === endpoint ? { verdict: 'taken' } : { verdict: 'none' }
    default:
      return { verdict: 'none' }
  }
}
