import { LAPSED_KEPT_MS } from '../../../domain/machines/claim-and-payment.rules.js'
import { PRELUDE } from './prelude.js'

/** roles, token, leaseMs -> 1 where the whole hold is still ours. */
export const RENEW = /* lua */ `${PRELUDE}
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
return 1
`
