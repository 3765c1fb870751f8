import type { Random } from './random.js'

/** 128 random bits as hex. */
export function randomId(random: Pick<Random, 'bytes'>): string {
  return Array.from(random.bytes(16), byte => byte.toString(16).padStart(2, '0')).join('')
}
