import { CLOSING_EVENTS } from '../../../domain/machines/claim-and-payment.rules.js'
import { luaLiteral } from './literal.js'
import { PRELUDE } from './prelude.js'

/** roles, token, how, retentionMs, then the answer or nothing -> closed or superseded. */
export const CLOSE = /* lua */ `${PRELUDE}
local CLOSING_EVENTS = ${luaLiteral(CLOSING_EVENTS)}
local how, retentionMs, answer = ARGV[3], ARGV[4], ARGV[5]
local claim, payment = find(CLAIM, key.c), find(PAYMENT, key.p)
-- A call that took a recorded claim over may resolve it but not close it: another call recorded the answer.
local function recordedByUs()
  return not lists(claim, 'orphaned') or redis.call('HGET', claim.name, 'recordedBy') == token
end
local claimOurs = claim and claim.token == token and recordedByUs()
-- Another call took the claim over and asks the chain about this payment. Our release would free the payment too early.
local paymentOurs = payment and payment.token == token and (how ~= 'release' or not key.c or claimOurs)

local paymentMoved = paymentOurs and moveAlong(payment, CLOSING_EVENTS[how].payment)
local claimMoved = false
if claimOurs then
  -- Without an answer there is nothing to replay, so the key is released.
  if not answer and not claim.final and redis.call('HEXISTS', claim.name, 'answer') == 0 then how = 'release' end
  claimMoved = moveAlong(claim, CLOSING_EVENTS[how].claim)
end

-- The answer lost its key, and is kept under its payment's own name. A call that has recorded nothing there never will: this call
-- has its payment.
local named = find(CLAIM, key.n)
local isFree = not named or lists(named, 'recorded')
if claimMoved and how == 'forfeit' and key.n and isFree then
  storeFinal(claim, key.n, retentionMs, answer)
end
if claimMoved then keepFinal(claim, retentionMs, answer) end
if paymentMoved then keep(payment) end
return (not key.c or claimMoved) and (not key.p or paymentMoved) and 'closed' or 'superseded'
`
