/** Subscription keys: made here, stored as their hash, shown once. */
import { hash } from 'node:crypto'
import type { ChargeDeps } from './deps.js'

/**
 * By the store's time, where it has one. By each replica's own, a window of ten minutes that was sold by one whose clock
 * was an hour behind had ended before it was paid for.
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
 * The name under which a window is stored: a store that leaks gives no key away, and a seller who shares the store by
 * mistake does not open what another has sold.
 */
export function keyId(payTo: string, key: string): string {
  return hash('sha256', payTo + key, 'base64url')
}
