/** Subscription keys: made here, stored as their hash, shown once. */
import { hash } from 'node:crypto'
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

export function newKey({ random }: ChargeDeps): string {
  return `svc_${Buffer.from(random.bytes(32)).toString('base64url')}`
}

/**
 * The name under which a window is stored. A store that leaks reveals no key, and sellers that share a store by
 * mistake do not open each other's windows.
 */
export function keyId(recordOwner: string, key: string): string {
  return hash('sha256', recordOwner + key, 'base64url')
}
