/**
 * The units of a balance: a hash (u) with `unused`, and `reserved`, the sum of what is in a sorted set (v). That has
 * `<units> <token>` for each claim that has reserved, by the end of its lease; the claim has the units as its field `reserved`.
 */
import { LAPSED_KEPT_MS } from '../../../domain/machines/claim-and-payment.rules.js'
import { subscriptionTable } from '../../../domain/machines/subscription.machine.js'
import { luaDrawing, PRELUDE } from './prelude.js'

/** Follows the prelude. A script whose call has no balance pays nothing for it. */
export const UNITS = /* lua */ `
local UNITS = key.u and ${luaDrawing(subscriptionTable)}

-- Sets the same life again: from Redis 7.2 on, WAIT waits for the last write of its connection alone.
local function writeAgain(name) redis.call('PEXPIRE', name, redis.call('PTTL', name)) end

local function unitsOf(member) return tonumber(member:match('^%d+')) end

local function findUnits()
  local stored = key.u and redis.call('HMGET', key.u, 'state', 'unused', 'reserved', 'endsAtMs')
  if not stored or not stored[1] then return nil end
  local units = { drawing = UNITS, name = key.u, state = stored[1] }
  units.unused, units.reserved, units.endsAtMs = tonumber(stored[2]), tonumber(stored[3]), tonumber(stored[4])
  if nowMs >= units.endsAtMs then move(units, 'ended') end
  units.lapsed = redis.call('ZRANGEBYSCORE', key.v, '-inf', nowMs)
  for _, member in ipairs(units.lapsed) do units.reserved = units.reserved - unitsOf(member) end
  return units
end

local function keepUnits(units)
  if #units.lapsed > 0 then redis.call('ZREMRANGEBYSCORE', key.v, '-inf', nowMs) end
  keep(units, 'unused', units.unused, 'reserved', units.reserved)
end

local function freeOf(units)
  return math.max(0, units.unused - units.reserved)
end

-- What the claim has reserved, as it lies in v. It leaves the sum, if its lease lives.
local function giveBack(units, claim)
  local reserved = key.u and claim and read(claim, 'reserved')[1]
  if not reserved then return nil end
  if units and nowMs < claim.leaseEndsMs then units.reserved = units.reserved - tonumber(reserved) end
  return reserved .. ' ' .. claim.token
end

-- A balance stays for the calls that reserved before its end, so that nothing that comes late restores it.
local function reserve(units, most, leaseMs)
  local isNew = redis.call('ZADD', key.v, nowMs + leaseMs, most .. ' ' .. token) == 1
  local lifeMs = leaseMs + ${LAPSED_KEPT_MS}
  -- Until its end the balance lives by itself, and so does the set that has another member.
  if units and nowMs + lifeMs < units.endsAtMs then
    if units.reserved == 0 then redis.call('PEXPIRE', key.v, units.endsAtMs - nowMs) end
    return isNew
  end
  local unitsMs = redis.call('PTTL', key.u)
  if unitsMs < lifeMs then redis.call('PEXPIRE', key.u, lifeMs) end
  lifeMs = math.max(lifeMs, unitsMs)
  if redis.call('PTTL', key.v) < lifeMs then redis.call('PEXPIRE', key.v, lifeMs) end
  return isNew
end
`

/** roles, token, units, endsAtMs */
export const SELL = /* lua */ `${PRELUDE}${UNITS}
local endsAtMs = tonumber(ARGV[4])
if findUnits() then
  writeAgain(key.u)
elseif nowMs < endsAtMs then
  local units = new(UNITS, key.u)
  move(units, 'stored')
  local reserved = 0
  for _, member in ipairs(redis.call('ZRANGE', key.v, 0, -1)) do reserved = reserved + unitsOf(member) end
  keep(units, 'unused', ARGV[3], 'reserved', reserved, 'endsAtMs', endsAtMs)
  redis.call('PEXPIRE', key.u, endsAtMs - nowMs)
  redis.call('PEXPIRE', key.v, endsAtMs - nowMs, 'GT')
end
`

/** roles, token */
export const DROP = /* lua */ `${PRELUDE}${UNITS}
local units = findUnits()
if units then
  move(units, 'unsettled')
  keep(units)
end
`
