/** Subscription keys: made here, stored as their hash, shown once. */
import { createHash, randomBytes } from 'node:crypto'

export function newKey(): string {
  return `svc_${randomBytes(32).toString('base64url')}`
}

/** The name under which a window is stored: a store that leaks gives no key away. */
export function keyId(key: string): string {
  return createHash('sha256').update(key).digest('base64url')
}
