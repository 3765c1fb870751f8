/** The balances that calls take from: what a call may reserve, what it has reserved, and what it costs in the end. */
import { parseBaseUnits } from '../../domain/money.js'
import type { ChargeRequest } from '../../ports/charge.js'
import type { UnitsTaken } from '../../ports/charge-store.js'
import type { Call, CallsBalance } from './call-at-work.js'
import type { ChargeDeps, EndpointEntry } from './charge-deps.js'
import { balanceId } from './names-in-stores.js'

/**
 * The balance whose key came with a request; `undefined` where none did. Where the endpoint takes none, it may have taken one before a
 * deploy, and then the balance opens the answers that it paid for.
 */
export function namedBalance(
  { owner }: Pick<ChargeDeps, 'owner'>,
  { takesBalance }: EndpointEntry,
  { balanceKey, idempotencyKey, payment, subscriptionKey }: ChargeRequest,
): CallsBalance | undefined {
  if (balanceKey === undefined) return undefined
  const opensOnly = payment.kind === 'none' && subscriptionKey === undefined && idempotencyKey !== undefined
  if (!takesBalance && !opensOnly) return undefined
  const id = balanceId(owner, balanceKey)
  return { id, reserved: undefined, left: undefined, said: undefined, charged: undefined, isInDoubt: false }
}

/** What a call with a fixed price reserves when it takes its key: one trip for both. */
export function knownCost({ balance, endpoint: { def, takesBalance }, request }: Call): number | undefined {
  if (balance === undefined || def.amount === undefined || !takesBalance) return undefined
  const amount = BigInt(def.amount)
  return isAgreed(amount, request.maxCharge) ? Number(amount) : undefined
}

/** @param most as the caller sent it; it is checked where the call takes its key */
export function isAgreed(amount: bigint, most: string | undefined): boolean {
  return amount <= Number.MAX_SAFE_INTEGER && (most === undefined || amount <= parseBaseUnits(most)!)
}

export function noteTaken({ balance }: Call, taken: UnitsTaken, units: number): void {
  balance!.reserved = taken.verdict === 'taken' ? units : undefined
  if (taken.verdict === 'none') balance!.left = undefined
  else balance!.left = taken.verdict === 'short' ? taken.free : taken.unused
  balance!.held = taken.verdict === 'short' ? taken.unused - taken.free : undefined
}

/** What the store is to count: what the handler said, else the price. Nothing can change it afterwards. */
export function chargeOf({ balance }: Call): number {
  const said = balance!.said === 'nonsense' ? 0 : balance!.said
  balance!.charged ??= said ?? balance!.reserved!
  return balance!.charged
}
