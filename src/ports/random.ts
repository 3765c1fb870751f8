/** Randomness. Only implementations of this port make any, so that a simulation can repeat a run. */
export interface Random {
  /** Unpredictable bytes. */
  bytes(length: number): Uint8Array
  /** 12 unpredictable bytes for AES-GCM, never for a key: they may come from a pool, which a restored snapshot repeats. */
  iv(): Uint8Array
  /** An unpredictable UUID of version 4 (RFC 9562). */
  uuid(): string
  /** A number from 0 (included) to 1 (excluded), for pauses. It may be predictable. */
  fraction(): number
}

let pool: Uint8Array = new Uint8Array()

export const systemRandom: Random = {
  bytes: length => crypto.getRandomValues(new Uint8Array(length)),
  iv() {
    // Another pool each time: what was handed out keeps its bytes.
    if (pool.length === 0) pool = systemRandom.bytes(256 * 12)
    const iv = pool.subarray(0, 12)
    pool = pool.subarray(12)
    return iv
  },
  uuid: () => crypto.randomUUID(),
  fraction: () => Math.random(),
}

/** 128 random bits as hex. */
export function randomId(random: Pick<Random, 'bytes'>): string {
  return Array.from(random.bytes(16), byte => byte.toString(16).padStart(2, '0')).join('')
}
