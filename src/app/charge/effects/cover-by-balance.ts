import { formatUsd } from '../../../domain/money.js'
import { isAgreed } from '../balances.js'
import { type Call, storeDown } from '../call-record.js'
import type { ChargeDeps } from '../charge-deps.js'
import { takeCredit } from './credit.js'
import { reserve } from './open.js'
import { priceNow } from './price.js'

/** Prices the call, and reserves the price on the balance. Where the balance does not suffice, the call is quoted its price. */
export async function coverByBalance(deps: ChargeDeps, call: Call) {
  const balance = call.balance!
  const { def } = call.endpoint
  const amount = def.amount === undefined ? await priceNow(deps, call) : BigInt(def.amount)
  if (amount === undefined) return 'unpriceable'
  if (!isAgreed(amount, call.request.maxCharge)) {
    call.end.refusal = `The call costs ${formatUsd(amount)}, which is more than x-svc-max-charge; nothing was taken`
    return 'uncovered'
  }
  if (def.amount === undefined && !(await reserve(deps, call, Number(amount)))) return storeDown(call)
  if (balance.reserved !== undefined) return takeCredit(deps, call, `balance ${balance.id}`)
  call.end.refusal =
    balance.left === undefined
      ? 'This balance is unknown, or its period is over; nothing was taken'
      : `The balance does not suffice: ${formatUsd(BigInt(balance.left))} can be taken; nothing was taken`
  return 'uncovered'
}
