import type { CloseMove } from '../../../ports/charge-store.js'
import { luaLiteral } from './literal.js'
import { RECORDS } from './records.js'

/**
 * The event for each way of closing: the first that the record's state lists, and none where it lists none. A call that
 * a window covered recorded nothing: its claim is `served`, and a payment that came along is given back.
 */
const CLOSED_BY = {
  complete: { claim: ['completed', 'served'], payment: ['completed', 'released'] },
  forfeit: { claim: ['forfeited'], payment: ['completed', 'released'] },
  release: { claim: ['released'], payment: ['released'] },
} as const satisfies Record<CloseMove['how'], unknown>

/** roles, token, how, windowMs, then the answer or nothing -> closed or superseded. */
export const CLOSE = /* lua */ `${RECORDS}
local CLOSED_BY = ${luaLiteral(CLOSED_BY)}
local how, windowMs, answer = ARGV[3], ARGV[4], ARGV[5]
local claim, payment = find(CLAIM, key.c), find(PAYMENT, key.p)
-- A call that took a recorded claim over may resolve it and never close it: the answer in it is not its own.
local function recordedByUs()
  return not lists(claim, 'orphaned') or redis.call('HGET', claim.name, 'recordedBy') == token
end
local claimOurs = claim and claim.token == token and recordedByUs()
-- The call that took the claim over decides by the chain's word what its payment is: our release would free it early.
local paymentOurs = payment and payment.token == token and (how ~= 'release' or not key.c or claimOurs)

local paymentMoved = paymentOurs and moveAlong(payment, CLOSED_BY[how].payment)
local claimMoved = false
if claimOurs then
  local answered = redis.call('HEXISTS', claim.name, 'answer') == 1
  if answered then answer = nil end
  -- Without an answer there is nothing to replay, so the key is given back.
  if not answered and not answer then how = 'release' end
  claimMoved = moveAlong(claim, CLOSED_BY[how].claim)
end

if claimMoved then
  if answer then keepFinal(claim, windowMs, 'answer', answer) else keepFinal(claim, windowMs) end
end
if paymentMoved then keep(payment) end
return (not key.c or claimMoved) and (not key.p or paymentMoved) and 'closed' or 'superseded'
`
