/** Randomness. Only implementations of this port make any, so that a simulation can repeat a run. */
export interface Random {
  /** Unpredictable bytes. */
  bytes(length: number): Uint8Array
  /** An unpredictable UUID of version 4 (RFC 9562). */
  uuid(): string
  /** A number from 0 (included) to 1 (excluded), for pauses. It may be predictable. */
  fraction(): number
}

export const systemRandom: Random = {
  bytes: length => crypto.getRandomValues(new Uint8Array(length)),
  uuid: () => crypto.randomUUID(),
  fraction: () => Math.random(),
}

/** 128 random bits as hex. */
export function randomId(random: Pick<Random, 'bytes'>): string {
  return Array.from(random.bytes(16), byte => byte.toString(16).padStart(2, '0')).join('')
}
