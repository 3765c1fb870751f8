/** Randomness. Nothing else in the source makes any, so that a simulation can repeat a run. */
export interface Random {
  /** Bytes that nobody can guess. */
  bytes(length: number): Uint8Array
  /** A UUID of version 4 (RFC 9562), which nobody can guess. */
  uuid(): string
  /** From 0 up to 1, which it never is: for pauses. Somebody may guess it. */
  fraction(): number
}

export const systemRandom: Random = {
  bytes: length => crypto.getRandomValues(new Uint8Array(length)),
  uuid: () => crypto.randomUUID(),
  fraction: () => Math.random(),
}
