/**
 * Windows that were sold, by the SHA-256 of their key; the key itself is never stored. A shared store needs only these
 * operations, sync or async. A store that throws is down: nothing is opened and nothing is sold.
 */
export interface SubscriptionStore {
  /** The window of this id, also one that has ended; nothing where there is none. */
  get(id: string): SubscriptionRecord | undefined | null | Promise<SubscriptionRecord | undefined | null>
  /** Keeps a window; a later put of the same id counts. */
  put(id: string, record: SubscriptionRecord): unknown
  /** Drops what ended before `nowMs`. */
  sweep(nowMs: number): unknown
  /**
   * The store's own time, in milliseconds since the epoch: what replicas share ends by one clock. Without it each process
   * counts by its own.
   */
  now?(): number | Promise<number>
  /** Used on proof that nothing was charged; without it the record simply ends with its window. */
  delete?(id: string): unknown
}

/** A window that was sold. */
export interface SubscriptionRecord {
  /** The endpoint that sold the window, and the only one that it opens. */
  readonly endpoint: string
  /** Open while now is before this, in milliseconds since the epoch by the store's own time. */
  readonly expiresAtMs: number
}
