/** The keys of windows, made here and shown once; and the time that ends windows. */
import type { SubscriptionRecord, SubscriptionStore } from '../../ports/subscriptions.js'
import type { ChargeDeps } from './charge-deps.js'

/**
 * The store's time, where the store has one. When each replica used its own clock, a replica that was an hour behind
 * sold a window of ten minutes that had ended before it was paid for.
 */
export function windowsNow({
  subscriptions,
  clock,
}: Pick<ChargeDeps, 'subscriptions' | 'clock'>): number | Promise<number> {
  return subscriptions.now?.() ?? clock.now()
}

/** In a store without `putIfAbsent`, no record ever changes, and `put` of the same record again changes nothing. */
export async function putWindow(
  subscriptions: SubscriptionStore,
  id: string,
  record: SubscriptionRecord,
): Promise<void> {
  await (subscriptions.putIfAbsent ? subscriptions.putIfAbsent(id, record) : subscriptions.put!(id, record))
}

export function newKey({ random }: ChargeDeps): string {
  return `svc_${Buffer.from(random.bytes(32)).toString('base64url')}`
}
