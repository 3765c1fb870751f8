import { formatUsd } from '../../../domain/money.js'
import { isAgreed } from '../balances.js'
import { type Call, storeDown } from '../call-at-work.js'
import type { ChargeDeps } from '../charge-deps.js'
import { coveredOnCredit } from './credit.js'
import { reserve } from './open.js'
import { priceNow } from './price.js'

/** Prices the call, and reserves the price; a fixed one was reserved with the key. What the balance cannot pay for is quoted. */
export function coverByBalance(deps: ChargeDeps, call: Call) {
  const { def, takesBalance } = call.endpoint
  if (!takesBalance) return 'uncovered' as const
  const { amount } = def
  return amount === undefined ? priced(deps, call) : covered(deps, call, BigInt(amount))
}

async function priced(deps: ChargeDeps, call: Call) {
  const amount = await priceNow(deps, call)
  if (amount === undefined) return 'unpriceable'
  const isAsked = isAgreed(amount, call.request.maxCharge)
  if (isAsked && !(await reserve(deps, call, Number(amount)))) return storeDown(call)
  return covered(deps, call, amount)
}

function covered(deps: ChargeDeps, call: Call, amount: bigint) {
  const { id, reserved, left } = call.balance!
  if (reserved !== undefined) return coveredOnCredit(deps, call, `balance ${id}`)
  call.end.refusal = `${whyNot(call, amount, left)}; nothing was taken`
  return 'uncovered' as const
}

function whyNot({ request }: Call, amount: bigint, left: number | undefined): string {
  if (!isAgreed(amount, request.maxCharge))
    return `The call costs ${formatUsd(amount)}, which is more than x-svc-max-charge`
  if (left === undefined) return 'This balance is unknown, or its period is over'
  return `The balance does not suffice: ${formatUsd(BigInt(left))} can be taken`
}
