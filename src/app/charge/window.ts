/** Subscription keys: made here, stored as their hash, shown once. */
import { hash, randomBytes } from 'node:crypto'

export function newKey(): string {
  return `svc_${randomBytes(32).toString('base64url')}`
}

/**
 * The name under which a window is stored: a store that leaks gives no key away, and a seller who shares the store by
 * mistake does not open what another has sold.
 */
export function keyId(payTo: string, key: string): string {
  return hash('sha256', payTo + key, 'base64url')
}
