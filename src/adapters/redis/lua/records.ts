/**
 * What every move begins with: the drawings, the server's time, the keys, and how a record is found, moved and kept.
 *
 * Scripts look first, then move, then write. Redis undoes nothing of a script that stops half way, so whatever may stop
 * one (an event that the drawing does not list, no memory for the first HSET) comes before its first change.
 */
import { claimTable } from '../../../domain/machines/claim.machine.js'
import { type PaymentState, paymentTable } from '../../../domain/machines/payment.machine.js'
import type { Opened } from '../../../ports/charge-store.js'
import { luaDrawing, luaLiteral } from './literal.js'

/** How long a lapsed holder may still record, if nobody took its place, before its record is collected. */
export const LAPSED_KEPT_MS = 60_000

/** What is said of a payment to everybody but its holder. */
const TO_OTHERS = {
  free: 'opened',
  held: 'inUse',
  lapsed: 'opened',
  settling: 'inUse',
  spent: 'spent',
} as const satisfies Record<PaymentState, Opened['verdict']>

/** ARGV[1] says, a letter each, what the keys are: c the claim, p the presented payment, r the recorded one. */
export const RECORDS = /* lua */ `
local CLAIM = ${luaDrawing(claimTable)}
local PAYMENT = ${luaDrawing(paymentTable)}
local TO_OTHERS = ${luaLiteral(TO_OTHERS)}

local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)

local key = {}
for at = 1, #KEYS do key[ARGV[1]:sub(at, at)] = KEYS[at] end
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

-- That a lease has run out is not written anywhere: it is seen by whoever looks.
local function find(drawing, name)
  if not name then return nil end
  local stored = redis.call('HMGET', name, 'state', 'token', 'leaseEndsMs')
  if not stored[1] then return nil end
  local record = { drawing = drawing, name = name, state = stored[1], token = stored[2] }
  record.leaseEndsMs = tonumber(stored[3])
  if nowMs >= record.leaseEndsMs and lists(record, 'lapsed') then move(record, 'lapsed') end
  return record
end

local function new(drawing, name)
  return { drawing = drawing, name = name, state = drawing.initial }
end

-- A record whose life is over is no record.
local function keep(record, ...)
  if record.state == record.drawing.initial then
    redis.call('DEL', record.name)
  else
    redis.call('HSET', record.name, 'state', record.state, ...)
  end
end

-- Puts a record to work for this call, and forgets what an earlier one left in it.
local function hold(record, leaseMs, ...)
  keep(record, 'token', token, 'leaseEndsMs', nowMs + leaseMs, ...)
  redis.call('HDEL', record.name, 'answer', 'txId', 'firstValid', 'lastValid', 'recordedBy')
  redis.call('PEXPIRE', record.name, leaseMs + ${LAPSED_KEPT_MS})
end

-- Nobody asks any more which payment an answer that is final was waiting for; it is a quarter of what the claim takes.
local function keepFinal(claim, windowMs, ...)
  keep(claim, ...)
  redis.call('HDEL', claim.name, 'txId', 'firstValid', 'lastValid')
  redis.call('PEXPIRE', claim.name, windowMs)
end

local function presented(payment)
  if not payment then return 'opened' end
  if payment.token == token and lists(payment, 'opened') then return 'opened' end
  return TO_OTHERS[payment.state]
end
`
