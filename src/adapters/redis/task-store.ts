/** The bound of their number is one count, so all tasks are in one hash slot. */
import type { NewTask, TaskStore } from '../../ports/tasks.js'
import type { Connection } from './connection.js'
import { moveInTime, serverTime } from './server-time.js'

export const FIND = /* lua */ `
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local name, open, owners = KEYS[1], KEYS[2], KEYS[3]
local task = redis.call('HMGET', name, 'content', 'owner', 'payment', 'token', 'isCompleted')
local content, owner, payment, token, isCompleted = task[1], task[2], task[3], task[4], task[5]

local function uncount(member, whose)
  if redis.call('ZREM', open, member) == 0 then return end
  if redis.call('HINCRBY', owners, whose, -1) < 1 then redis.call('HDEL', owners, whose) end
end

local function keepAtLeast(key, lifeMs)
  if redis.call('PTTL', key) < lifeMs then redis.call('PEXPIRE', key, lifeMs) end
end
`

/** deadlineMs, content, owner, lifeMs, ownerMax, max */
export const PUT = /* lua */ `${FIND}
if nowMs > tonumber(ARGV[1]) then return { 'late', tostring(nowMs) } end
if content then return 'kept' end
for _, member in ipairs(redis.call('ZRANGEBYSCORE', open, '-inf', nowMs, 'LIMIT', 0, 1000)) do
  uncount(member, member:match(' (.*)$'))
end
local whose, lifeMs = ARGV[3], tonumber(ARGV[4])
if redis.call('ZCARD', open) >= tonumber(ARGV[6]) then return 'full' end
if tonumber(redis.call('HGET', owners, whose) or 0) >= tonumber(ARGV[5]) then return 'full' end
redis.call('HSET', name, 'content', ARGV[2], 'owner', whose)
redis.call('PEXPIRE', name, lifeMs)
redis.call('ZADD', open, nowMs + lifeMs, name .. ' ' .. whose)
redis.call('HINCRBY', owners, whose, 1)
keepAtLeast(open, lifeMs)
keepAtLeast(owners, lifeMs)
return 'kept'
`

/** deadlineMs, payment, token, lifeMs -> first or later, then the content and the payment that has the task. */
export const TAKE = /* lua */ `${FIND}
if nowMs > tonumber(ARGV[1]) then return { 'late', tostring(nowMs) } end
if not content then return nil end
if payment and payment ~= ARGV[2] then return { 'later', content, payment } end
redis.call('HSET', name, 'payment', ARGV[2], 'token', ARGV[3])
local lifeMs = tonumber(ARGV[4])
if not isCompleted and redis.call('PTTL', name) < lifeMs then
  redis.call('PEXPIRE', name, lifeMs)
  redis.call('ZADD', open, 'XX', nowMs + lifeMs, name .. ' ' .. owner)
  keepAtLeast(open, lifeMs)
  keepAtLeast(owners, lifeMs)
end
return { payment and 'later' or 'first', content, ARGV[2] }
`

/** how, lifeMs, payment, token; without a payment the last two are empty. Deletes and counts down first. */
export const END = /* lua */ `${FIND}
if not content then return 'unknown' end
if (payment or '') ~= ARGV[3] then return 'kept' end
if ARGV[1] == 'completed' then
  if isCompleted then return 'ended' end
  uncount(name .. ' ' .. owner, owner)
  redis.call('HSET', name, 'isCompleted', 1)
  redis.call('PEXPIRE', name, ARGV[2])
  return 'ended'
end
if isCompleted or (token or '') ~= ARGV[4] then return 'kept' end
redis.call('DEL', name)
uncount(name .. ' ' .. owner, owner)
return 'ended'
`

export function redisTasks(
  connection: Pick<Connection, 'commandTimeoutMs' | 'onUp' | 'script' | 'send'>,
  prefix: string,
  time = serverTime(connection),
  /** The connection of a take: after a failover that forgot it, a second payment could take the task. */
  replicated: Pick<Connection, 'script'> = connection,
): TaskStore {
  const place = `${prefix}{tasks}:`
  const keysOf = (name: string) => [`${place}task:${name}`, `${place}open`, `${place}owners`]
  const put = connection.script('svcTaskPut', PUT)
  const take = replicated.script('svcTaskTake', TAKE)
  const end = connection.script('svcTaskEnd', END)
  return {
    async put({ name, content, owner, lifeMs, ownerMax, max }: NewTask) {
      const reply = await moveInTime(connection, time, deadlineMs =>
        put(keysOf(name), [deadlineMs, Buffer.from(content), owner, Math.ceil(lifeMs), ownerMax, max]),
      )
      return String(reply) as 'kept' | 'full'
    },
    async get(name) {
      const [key] = keysOf(name)
      const [content, payment] = await connection.send(redis => redis.hmgetBuffer(key!, 'content', 'payment'))
      return content ? { content, ...(payment && { payment: String(payment) }) } : undefined
    },
    async take({ name, payment, token, lifeMs }) {
      const reply = await moveInTime(connection, time, deadlineMs =>
        take(keysOf(name), [deadlineMs, payment, token, Math.ceil(lifeMs)]),
      )
      if (reply === null) return undefined
      const [order, content, by] = reply as readonly [Buffer, Buffer, Buffer]
      return { content, payment: String(by), isFirst: String(order) === 'first' }
    },
    async end({ name, how, payment = '', token = '', lifeMs }) {
      const reply = await end(keysOf(name), [how, Math.ceil(lifeMs), payment, token])
      return String(reply) as 'ended' | 'kept' | 'unknown'
    },
  }
}
