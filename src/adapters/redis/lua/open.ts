import { PRELUDE } from './prelude.js'

/** roles, token, deadlineMs, bodyHash, leaseMs, isBearer, caller -> a verdict, and what comes with it; late after the deadline. */
export const OPEN = /* lua */ `${PRELUDE}
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
  if lists(claim, 'evicted') then return replay(kept) end
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
  if caller == '' then hold(claim, leaseMs, 'bodyHash', bodyHash) else hold(claim, leaseMs, 'bodyHash', bodyHash, 'caller', caller) end
end
if payment then hold(payment, leaseMs) end
return { 'opened' }
`
