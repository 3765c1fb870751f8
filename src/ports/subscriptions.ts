/**
 * Stores the windows that were sold, by the SHA-256 of their key. The key itself is never stored. A shared store
 * needs only these operations, sync or async. If a store throws, it is down: no window opens and none is sold.
 */
export interface SubscriptionStore {
  /** The window of this id, even if it has ended; nothing where there is none. */
  get(id: string): SubscriptionRecord | undefined | null | Promise<SubscriptionRecord | undefined | null>
  /** Stores a window. A later put of the same id replaces it. */
  put(id: string, record: SubscriptionRecord): unknown
  /** Drops the windows that ended before `nowMs`. */
  sweep(nowMs: number): unknown
  /**
   * The store's own time, in milliseconds since the epoch, so that all replicas end a window by one clock. Without it
   * each process uses its own clock.
   */
  now?(): number | Promise<number>
  /** Called when it is proved that nothing was charged. Without it the record stays until its window ends. */
  delete?(id: string): unknown
}

/** A window that was sold. */
export interface SubscriptionRecord {
  /** The endpoint that sold the window. The window opens no other endpoint. */
  readonly endpoint: string
  /**
   * The end of the window, in milliseconds since the epoch by the store's own time. The window is open before this
   * moment.
   */
  readonly expiresAtMs: number
}
