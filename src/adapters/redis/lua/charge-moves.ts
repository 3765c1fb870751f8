/** The moves of the charge store, each one script. */
import { CLOSING_EVENTS, LAPSED_KEPT_MS } from '../../../domain/machines/claim-and-payment.rules.js'
import { UNITS } from './balance-units.js'
import { luaLiteral, PRELUDE } from './prelude.js'

/** roles, token, deadlineMs, bodyHash, leaseMs, isBearer, caller, take -> a verdict, and what comes with it; late after the deadline. */
export const OPEN = /* lua */ `${PRELUDE}${UNITS}
if nowMs > tonumber(ARGV[3]) then return { 'late', nowMs } end
local bodyHash, leaseMs, isBearer, caller = ARGV[4], tonumber(ARGV[5]), ARGV[6] == '1', ARGV[7]
local claim, payment = find(CLAIM, key.c), find(PAYMENT, key.p)
local verdict = presented(payment)
local kept = claim and read(claim, 'bodyHash', 'answer', 'txId', 'firstValid', 'lastValid', 'caller')

-- Whether a caller of whom only the payment's bytes and an address are known may open the claim.
local function opensForBearer()
  if not payment then return false end
  if lists(claim, 'recorded') then return payment.token == claim.token end
  return caller ~= '' and kept[6] == caller and kept[3] and key.p:sub(-#kept[3] - 1) == ':' .. kept[3]
end

local function replay(fields)
  if fields[2] then return { 'replayable', fields[2] } end
  return { 'notKept', fields[3] }
end

-- The answer that a spent payment has under its own name. It comes before the claim, whose key another payment may have since.
local filed = key.n and verdict == 'spent' and find(CLAIM, key.n)
if filed then
  local fields = read(filed, 'bodyHash', 'answer', 'txId')
  if fields[1] == bodyHash and lists(filed, 'evicted') then return replay(fields) end
end

local isSeen = claim and (not isBearer or opensForBearer())
if isSeen then
  if kept[1] ~= bodyHash then return { 'reused' } end
  if lists(claim, 'evicted') then
    if key.u then writeAgain(claim.name) end
    return replay(kept)
  end
  if claim.token ~= token and nowMs < claim.leaseEndsMs then
    return { 'inProgress', claim.leaseEndsMs - nowMs }
  end
  if lists(claim, 'orphaned') then
    move(claim, 'orphaned')
    keep(claim, 'token', token, 'leaseEndsMs', nowMs + leaseMs)
    return { 'orphaned', kept[2], kept[3], kept[4], kept[5] }
  end
elseif claim then
  if verdict == 'opened' then return { 'unsure' } end
end

if verdict ~= 'opened' then return { verdict, math.max(0, payment.leaseEndsMs - nowMs) } end

local units, take = findUnits(), key.c and tonumber(ARGV[8])
local replaced, taken = giveBack(units, claim), take and { 'none' }
if take and units and not lists(units, 'collected') then
  local free = freeOf(units)
  if take > free or not lists(units, 'taken') then taken = { 'short', units.unused, free } else taken = { 'taken', units.unused } end
end

if key.c then
  local event = claim and 'reopened' or 'opened'
  if claim then redis.call('HDEL', claim.name, 'caller') end
  claim = claim or new(CLAIM, key.c)
  move(claim, event)
end
if key.p then
  payment = payment or new(PAYMENT, key.p)
  move(payment, 'opened')
end
if claim then
  local more = { 'bodyHash', bodyHash }
  if caller ~= '' then more[3], more[4] = 'caller', caller end
  if taken and taken[1] == 'taken' then more[#more + 1], more[#more + 2] = 'reserved', ARGV[8] end
  hold(claim, leaseMs, unpack(more))
end
if payment then hold(payment, leaseMs) end
if replaced then redis.call('ZREM', key.v, replaced) end
if taken and taken[1] == 'taken' then
  reserve(units, ARGV[8], leaseMs)
  units.reserved = units.reserved + take
end
if units and (replaced or taken) then keepUnits(units) end
return { 'opened', unpack(taken or {}) }
`

/** roles, token, deadlineMs, leaseMs, claimTtlMs, paymentTtlMs, answer, then txId, firstValid, lastValid or nothing -> a verdict. */
export const RECORD = /* lua */ `${PRELUDE}
if nowMs > tonumber(ARGV[3]) then return { 'late', nowMs } end
local leaseEndsMs, claimTtlMs, paymentTtlMs = nowMs + tonumber(ARGV[4]), ARGV[5], ARGV[6]
local claim, payment = find(CLAIM, key.c), find(PAYMENT, key.p)

if key.c and (not claim or claim.token ~= token) then return 'superseded' end
if key.p and (not payment or payment.token ~= token) then return 'superseded' end

local claimReady = not claim or lists(claim, 'recorded')
local paymentReady = not payment or lists(payment, 'recorded')
if not claimReady or not paymentReady then
  if claim and read(claim, 'recordedBy')[1] ~= token then return 'superseded' end
  -- The later answer replaces the recorded one, until the claim has its outcome.
  if claim and lists(claim, 'completed') then redis.call('HSET', claim.name, 'answer', ARGV[7]) end
  return 'recorded'
end

if claim then move(claim, 'recorded') end
if payment then move(payment, 'recorded') end
if claim then
  keep(claim, 'leaseEndsMs', leaseEndsMs, 'recordedBy', token, 'answer', ARGV[7])
  if ARGV[8] then
    redis.call('HSET', claim.name, 'txId', ARGV[8], 'firstValid', ARGV[9], 'lastValid', ARGV[10])
  end
  redis.call('PEXPIRE', claim.name, claimTtlMs)
end
if payment then
  keep(payment, 'leaseEndsMs', leaseEndsMs)
  redis.call('PEXPIRE', payment.name, paymentTtlMs)
end
return 'recorded'
`

/** roles, token, how, retentionMs, charge, then the answer or nothing -> closed or superseded, and the unused units. */
export const CLOSE = /* lua */ `${PRELUDE}${UNITS}
local CLOSING_EVENTS = ${luaLiteral(CLOSING_EVENTS)}
local how, retentionMs, charge, answer = ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6]
local units = findUnits()
local claim, payment = find(CLAIM, key.c), find(PAYMENT, key.p)
-- A call that took a recorded claim over may resolve it but not close it: another call recorded the answer.
local function recordedByUs()
  return not lists(claim, 'orphaned') or read(claim, 'recordedBy')[1] == token
end
local claimOurs = claim and claim.token == token and recordedByUs()
-- This count is sent again.
if claimOurs and charge and lists(claim, 'evicted') then
  writeAgain(claim.name)
  return { 'closed', units and units.unused }
end
-- Another call took the claim over and asks the chain about this payment. Our release would free the payment too early.
local paymentOurs = payment and payment.token == token and (how ~= 'release' or not key.c or claimOurs)

local paymentMoved = paymentOurs and moveAlong(payment, CLOSING_EVENTS[how].payment)
local claimMoved = false
local given = claimOurs and giveBack(units, claim)
if claimOurs then
  -- Without an answer there is nothing to replay, so the key is released. What was charged for stays.
  if not charge and not answer and not claim.final and redis.call('HEXISTS', claim.name, 'answer') == 0 then how = 'release' end
  claimMoved = moveAlong(claim, CLOSING_EVENTS[how].claim)
end
if units and charge and claimMoved and lists(claim, 'evicted') then
  units.unused = math.max(0, units.unused - charge)
  move(units, units.unused > 0 and 'counted' or 'usedUp')
end

-- The answer lost its key, and is kept under its payment's own name. A call that stopped there before it recorded makes room.
local named = find(CLAIM, key.n)
local isFree = not named or (lists(named, 'recorded') and named.leaseEndsMs <= nowMs)
if claimMoved and how == 'forfeit' and key.n and isFree then
  storeFinal(claim, key.n, retentionMs, answer)
end
if claimMoved then keepFinal(claim, retentionMs, answer) end
if paymentMoved then keep(payment) end
if given and claimMoved then redis.call('ZREM', key.v, given) end
if units and (given or charge) and claimMoved then keepUnits(units) end
return { (not key.c or claimMoved) and (not key.p or paymentMoved) and 'closed' or 'superseded', units and units.unused }
`

/** roles, token, leaseMs -> 1 where the whole hold is still ours. */
export const RENEW = /* lua */ `${PRELUDE}${UNITS}
local leaseMs = tonumber(ARGV[3])
local claim, payment = find(CLAIM, key.c), find(PAYMENT, key.p)

local function ours(record)
  return record and record.token == token and lists(record, 'renewed')
end

if key.c and not ours(claim) then return 0 end
if key.p and not ours(payment) then return 0 end
for _, record in ipairs({ claim or payment, claim and payment }) do
  move(record, 'renewed')
  keep(record, 'leaseEndsMs', nowMs + leaseMs)
  -- A recorded claim or payment has an expiry of its own. Before that, the lease decides.
  if lists(record, 'recorded') then redis.call('PEXPIRE', record.name, leaseMs + ${LAPSED_KEPT_MS}) end
end
local reserved = key.u and claim and read(claim, 'reserved')[1]
local units = reserved and findUnits()
-- It had lapsed, and was taken out of the sum.
if reserved and reserve(units, reserved, leaseMs) and units then redis.call('HINCRBY', key.u, 'reserved', reserved) end
return 1
`

/** roles, token, deadlineMs, verdict, txId, retentionMs, leaseMs -> completed, opened, spent or moved; late after the deadline. */
export const RESOLVE = /* lua */ `${PRELUDE}
if nowMs > tonumber(ARGV[3]) then return { 'late', nowMs } end
local verdict, txId, retentionMs, leaseMs = ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])
local claim, recorded = find(CLAIM, key.c), find(PAYMENT, key.r)
local payment = recorded
if key.p ~= key.r then payment = find(PAYMENT, key.p) end
local ours = claim and claim.token == token

if not ours then return 'moved' end
if lists(claim, 'evicted') then return 'completed' end
if not lists(claim, 'orphaned') then
  -- This resolve is sent again: the first one has given the claim to this call.
  local held = not key.p or (payment and payment.token == token)
  return held and 'opened' or 'moved'
end
if read(claim, 'txId')[1] ~= txId then return 'moved' end

-- The verdict counts for a payment that is still settling. A spent payment stays spent, whatever a node answers.
local decides = recorded and lists(recorded, 'found')
if decides then move(recorded, verdict) end

if verdict == 'found' then
  move(claim, 'found')
  keepFinal(claim, retentionMs)
  if decides then keep(recorded) end
  return 'completed'
end

local said = presented(payment)
if said ~= 'opened' then
  move(claim, 'released')
  if decides then keep(recorded) end
  keep(claim)
  return said == 'spent' and 'spent' or 'moved'
end

move(claim, 'dead')
if key.p then
  payment = payment or new(PAYMENT, key.p)
  move(payment, 'opened')
end
hold(claim, leaseMs)
if decides then keep(recorded) end
if payment then hold(payment, leaseMs) end
return 'opened'
`
