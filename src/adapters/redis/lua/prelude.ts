/**
 * The beginning of every script: the machines, the server's time, the keys, and the functions that find, move and keep a
 * record.
 *
 * A script reads first, then moves, then writes. Redis does not roll back a script that fails half way, so an error (an event
 * that the machine does not list, no memory for the first HSET) must come before the first change.
 */
import { claimTable } from '../../../domain/machines/claim.machine.js'
import {
  KEPT_BYTES_MAX,
  KEPT_RECORD_BYTES,
  LAPSED_KEPT_MS,
  VERDICT_FOR_OTHERS,
} from '../../../domain/machines/claim-and-payment.rules.js'
import { paymentTable } from '../../../domain/machines/payment.machine.js'
import type { Drawing, Table } from '../../../domain/state-machine/transition-table.js'

/** ARGV[1] names the keys, one letter for each: c the claim, p the presented payment, r the recorded payment. */
export const PRELUDE = /* lua */ `
local CLAIM = ${luaDrawing(claimTable)}

local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)

local key = {}
for at = 1, #KEYS do key[ARGV[1]:sub(at, at)] = KEYS[at] end
local PAYMENT = (key.p or key.r) and ${luaDrawing(paymentTable)}
local VERDICT_FOR_OTHERS = PAYMENT and ${luaLiteral(VERDICT_FOR_OTHERS)}
local token = ARGV[2]

local function lists(record, event)
  return record.drawing.rows[record.state][event] ~= nil
end

local function move(record, event)
  local state = record.drawing.rows[record.state][event]
  if not state then error('state ' .. record.state .. ' does not list the event ' .. event) end
  record.state = state
end

local function moveAlong(record, events)
  for _, event in ipairs(events) do
    if lists(record, event) then
      move(record, event)
      return true
    end
  end
end

-- A completed claim is a string. Its caller is kept where another call than the one that recorded completed it.
local function findFinal(name)
  local token, bodyHash, isRecordedByToken, answer, txId, caller = unpack(cmsgpack.unpack(redis.call('GET', name)))
  local recordedBy = isRecordedByToken and token
  local final = { bodyHash = bodyHash, answer = answer, recordedBy = recordedBy, txId = txId, caller = caller }
  return { drawing = CLAIM, name = name, state = 'completed', token = token, final = final }
end

-- All fields but the answer, in one command: each costs as much as the rest of a small script.
local FIELDS = { 'state', 'token', 'leaseEndsMs', 'bodyHash', 'caller', 'reserved', 'recordedBy', 'txId', 'firstValid', 'lastValid' }

-- No command writes that a lease has run out: each script that reads the record finds it.
local function find(drawing, name)
  if not name then return nil end
  if drawing == CLAIM and redis.call('TYPE', name).ok == 'string' then return findFinal(name) end
  local stored = redis.call('HMGET', name, unpack(FIELDS, 1, drawing == CLAIM and #FIELDS or 3))
  if not stored[1] then return nil end
  local record = { drawing = drawing, name = name, state = stored[1], token = stored[2], fields = {} }
  for at, field in ipairs(FIELDS) do record.fields[field] = stored[at] end
  record.leaseEndsMs = tonumber(stored[3])
  if nowMs >= record.leaseEndsMs and lists(record, 'lapsed') then move(record, 'lapsed') end
  return record
end

-- As they were when the record was found.
local function read(record, ...)
  local found = {}
  for at, field in ipairs({ ... }) do
    if not record.final and field == 'answer' then
      found[at] = redis.call('HGET', record.name, field)
    else
      found[at] = (record.final or record.fields)[field] or false
    end
  end
  return found
end

local function new(drawing, name)
  return { drawing = drawing, name = name, state = drawing.initial, isNew = true }
end

-- A record that returns to the initial state is deleted.
local function keep(record, ...)
  if record.state == record.drawing.initial then
    redis.call('DEL', record.name)
  else
    redis.call('HSET', record.name, 'state', record.state, ...)
  end
end

-- Gives a record to this call, and deletes the fields of the call before it.
local function hold(record, leaseMs, ...)
  if not record.isNew then redis.call('HDEL', record.name, 'answer', unpack(FIELDS, 6)) end
  keep(record, 'token', token, 'leaseEndsMs', nowMs + leaseMs, ...)
  redis.call('PEXPIRE', record.name, leaseMs + ${LAPSED_KEPT_MS})
end

-- Drops the bytes of the owner's oldest answers when newer ones take as much as it may have. A score is the sum of all bytes up
-- to that answer, so no sum is made here.
local function bound(name, bytes, retentionMs)
  local place = key.k:sub(1, -#'kept' - 1) .. 'claim:'
  local newest = redis.call('ZRANGE', key.k, -1, -1, 'WITHSCORES')
  local total = (tonumber(newest[2]) or 0) + bytes + ${KEPT_RECORD_BYTES}
  redis.call('ZADD', key.k, total, name:sub(#place + 1))
  -- GT leaves a key without a life as it is.
  redis.call('PEXPIRE', key.k, retentionMs, newest[1] and 'GT' or 'NX')
  while total > ${KEPT_BYTES_MAX} do
    local oldest = redis.call('ZRANGE', key.k, 0, 0, 'WITHSCORES')
    if total - tonumber(oldest[2]) < ${KEPT_BYTES_MAX} then return end
    redis.call('ZREM', key.k, oldest[1])
    local dropped = place .. oldest[1]
    if redis.call('TYPE', dropped).ok == 'string' then
      local final = cmsgpack.unpack(redis.call('GET', dropped))
      final[4] = false
      redis.call('SET', dropped, cmsgpack.pack(final), 'KEEPTTL')
    end
  end
end

-- Redis packs no hash that has a value of more than 64 bytes. As a string, a completed claim takes a third less memory.
local function storeFinal(claim, name, retentionMs, answer)
  local bodyHash, recordedBy, txId, caller = unpack(read(claim, 'bodyHash', 'recordedBy', 'txId', 'caller'))
  local wasAdopted = recordedBy and recordedBy ~= claim.token
  -- A call that was charged stays so without an answer.
  answer = answer or read(claim, 'answer')[1]
  local final = { claim.token, bodyHash, recordedBy == claim.token, answer, txId, wasAdopted and caller or false }
  redis.call('SET', name, cmsgpack.pack(final), 'PX', retentionMs)
  bound(name, #(answer or ''), retentionMs)
end

local function keepFinal(claim, retentionMs, answer)
  if claim.state == claim.drawing.initial then return keep(claim) end
  storeFinal(claim, claim.name, retentionMs, answer)
end

local function presented(payment)
  if not payment then return 'opened' end
  if payment.token == token and lists(payment, 'opened') then return 'opened' end
  return VERDICT_FOR_OTHERS[payment.state]
end
`

type Literal = string | readonly Literal[] | { readonly [key: string]: Literal }

/** @throws Error for text that needs escaping. No table of ours has such text. */
export function luaLiteral(value: Literal): string {
  if (typeof value === 'string') return quoted(value)
  if (Array.isArray(value)) return `{${value.map(luaLiteral).join(',')}}`
  const entries = Object.entries(value).map(([key, inner]) => `[${quoted(key)}]=${luaLiteral(inner)}`)
  return `{${entries.join(',')}}`
}

/** A machine as scripts read it: its initial state, and the target of each event of each state. */
export function luaDrawing<D extends Drawing>({ initial, rows }: Table<D>): string {
  const moves = Object.entries<{ readonly on: Readonly<Record<string, string>> }>(rows)
  return luaLiteral({ initial, rows: Object.fromEntries(moves.map(([state, { on }]) => [state, on])) })
}

function quoted(text: string): string {
  if (/^\w+$/.test(text)) return `'${text}'`
  throw new Error(`not a plain word: ${JSON.stringify(text)}`)
}
