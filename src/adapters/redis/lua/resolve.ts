import { PRELUDE } from './prelude.js'

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
if redis.call('HGET', claim.name, 'txId') ~= txId then return 'moved' end

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
