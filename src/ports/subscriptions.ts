/**
 * Stores the windows that were sold, by the SHA-256 of their key. The key itself is never stored. For windows that only time
 * ends, a shared store needs `get`, `put` and `sweep`, sync or async. If a store throws, it is down: no window opens and none
 * is sold.
 *
 * Windows with a count of calls need `putIfAbsent`, `take`, `use` and `giveBack`. Each of these is one atomic step on the store's
 * own time: an implementation that reads and then writes sells one call twice. A call that was taken is reserved until
 * `use` or `giveBack` names its token, or until its lease ends, because its process died: then it belongs to the window
 * again. Sent again, `use` and `giveBack` change nothing.
 */
export interface SubscriptionStore {
  /** The window of this id, even if it has ended; nothing where there is none. */
  get(id: string): SubscriptionRecord | undefined | null | Promise<SubscriptionRecord | undefined | null>
  /**
   * Stores a window that only time ends. Two processes may store one sale, and the record is the same each time. Not called
   * where there is `putIfAbsent`.
   */
  put?(id: string, record: SubscriptionRecord): unknown
  /**
   * Stores a window, in one atomic step. Changes nothing if a window of this id is stored: two processes may store one sale,
   * and a late one must not give back the calls that were taken from it.
   */
  putIfAbsent?(id: string, record: SubscriptionRecord): unknown
  /** Drops the windows that ended before `nowMs`. */
  sweep(nowMs: number): unknown
  /**
   * The store's own time, in milliseconds since the epoch, so that all replicas end a window by one clock. Without it
   * each process uses its own clock.
   */
  now?(): number | Promise<number>
  /** Called when it is proved that nothing was charged. Without it the record stays until its window ends. */
  delete?(id: string): unknown
  /**
   * Reserves one call of a window. Answers a token that holds a reservation the same again. Of two tokens, only one gets
   * the last call.
   */
  take?(id: string, move: TakeMove): Taken | Promise<Taken>
  /** Counts a reserved call for good. Does nothing where the token holds none. */
  use?(id: string, token: string): unknown
  /** Gives a reserved call back. Answers how many calls are left; nothing where there is no such window. */
  giveBack?(id: string, token: string): number | undefined | null | Promise<number | undefined | null>
}

/** The moves of {@link SubscriptionStore} that selling windows needs. */
export const SELLING_MOVES = ['get', 'put', 'sweep'] as const
/** The moves that windows with a count of calls need. Where there is `putIfAbsent`, nothing needs `put`. */
export const COUNTING_MOVES = ['get', 'putIfAbsent', 'sweep', 'take', 'use', 'giveBack'] as const

/** A store that has what windows with a count of calls need. */
export type CountingSubscriptionStore = SubscriptionStore &
  Required<Pick<SubscriptionStore, 'putIfAbsent' | 'take' | 'use' | 'giveBack'>>

/** A window that was sold. */
export interface SubscriptionRecord {
  /** The endpoint that sold the window. The window opens no other endpoint. */
  readonly endpoint: string
  /** The end of the window, in milliseconds since the epoch by the store's own time. The window is open before this moment. */
  readonly expiresAtMs: number
  /**
   * How many more calls the window covers, without those that are reserved; absent where only time ends it. The call that
   * bought the window is counted before it is stored.
   */
  readonly callsLeft?: number
}

/** The arguments of `take`. */
export interface TakeMove {
  /** The endpoint that is called. A window of another endpoint counts as no window, and loses no call. */
  readonly endpoint: string
  /** Unique per call. */
  readonly token: string
  /** How long the call stays reserved, in milliseconds, if nobody uses it or gives it back. */
  readonly leaseMs: number
}

/**
 * The result of `take`. `taken`: the call is covered; `callsLeft` is what the window has after it, and is absent where only
 * time ends the window. `usedUp`: every call is used or reserved. `none`: there is no such window, or it has ended.
 */
export type Taken =
  | { readonly verdict: 'taken'; readonly callsLeft?: number }
  | { readonly verdict: 'usedUp' }
  | { readonly verdict: 'none' }
