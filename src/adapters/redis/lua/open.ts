import { PRELUDE } from './prelude.js'

/** roles, token, deadlineMs, bodyHash, leaseMs -> a verdict, and what comes with it; late after the deadline. */
export const OPEN = /* lua */ `${PRELUDE}
if nowMs > tonumber(ARGV[3]) then return { 'late', nowMs } end
local bodyHash, leaseMs = ARGV[4], tonumber(ARGV[5])
local claim, payment = find(CLAIM, key.c), find(PAYMENT, key.p)

if claim then
  local kept = read(claim, 'bodyHash', 'answer', 'txId', 'firstValid', 'lastValid')
  if kept[1] ~= bodyHash then return { 'reused' } end
  if lists(claim, 'evicted') then return { 'replayable', kept[2] } end
  if claim.token ~= token and nowMs < claim.leaseEndsMs then
    return { 'inProgress', claim.leaseEndsMs - nowMs }
  end
  if lists(claim, 'orphaned') then
    move(claim, 'orphaned')
    keep(claim, 'token', token, 'leaseEndsMs', nowMs + leaseMs)
    return { 'orphaned', kept[2], kept[3], kept[4], kept[5] }
  end
end

local verdict = presented(payment)
if verdict ~= 'opened' then return { verdict, math.max(0, payment.leaseEndsMs - nowMs) } end

if key.c then
  local event = claim and 'reopened' or 'opened'
  claim = claim or new(CLAIM, key.c)
  move(claim, event)
end
if key.p then
  payment = payment or new(PAYMENT, key.p)
  move(payment, 'opened')
end
if claim then hold(claim, leaseMs, 'bodyHash', bodyHash) end
if payment then hold(payment, leaseMs) end
return { 'opened' }
`
