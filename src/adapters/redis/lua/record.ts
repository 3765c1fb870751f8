import { PRELUDE } from './prelude.js'

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
