import type * as moves from '../domain/charge-store/moves.js'

export type * from '../domain/charge-store/moves.js'

/**
 * Holds idempotency keys (claims) and payments as long as a charge depends on them.
 *
 * Five moves, and three for balances. Each is atomic over the claim and the payment together, takes one round trip, uses the store's own
 * clock, and is idempotent: the same token may send it again. This forbids implementations that read and then write,
 * and implementations whose two halves can succeed separately. After a crash every recorded payment is still there:
 * only the chain's verdict ends `settling`, a lease never does. Expiry only removes records that no longer matter.
 *
 * A lease says that a call is alive, not how long it takes: running calls renew theirs. A call whose lease lapsed
 * continues until it finds that another call took its place. The token fences every move, so the replaced call
 * changes nothing.
 *
 * If the store cannot be reached, a move rejects. It is unknown whether a rejected `open`, `record` or `resolve`
 * happened, but it cannot happen later: each carries a deadline in the store's own time. So a store that was
 * suspended does not carry out a move whose caller was refused. The caller sends a release afterwards, for the case
 * that the move happened.
 */
export interface ChargeStore {
  /**
   * Takes the claim and the payment, or neither. Checks the verdicts in this order: reused, replayable or notKept, orphaned
   * (which takes over the claim's token), inProgress, spent, inUse, opened. For a bearer, a claim that it may not open counts
   * as absent, or is `unsure`.
   */
  open(move: moves.OpenMove): Promise<moves.Opened>

  /**
   * Called before settling: claim and payment must still have the call's token. Keeps what a successor needs to
   * finish or to replay the call. Sent again while the outcome is open, its answer replaces the recorded one.
   */
  record(move: moves.RecordMove): Promise<'recorded' | 'superseded'>

  /**
   * Renews the leases of running calls, in one request for all of them. Returns for each hold whether everything in
   * it still has its token. A record with another token stays unchanged.
   */
  renew(holds: readonly moves.Hold[], leaseMs: number): Promise<readonly boolean[]>

  /**
   * Closes the claim and the payment together. Changes nothing that does not have the call's token, and no claim that
   * another call recorded: a successor resolves such a claim and never closes it. `closed`: this move ended
   * everything that the call holds. `superseded`: a part of it was missing, had another token, or could not be moved.
   * After `closed`, a `release` proves that no other call has the payment.
   */
  close(move: moves.CloseMove): Promise<moves.Closed>

  /**
   * Applies the chain's verdict on the recorded payment, fenced by the token: of the call that recorded, or the one that an
   * `orphaned` open took over. If the claim has another token, returns `moved`, even if the claim is completed by now: its answer
   * may be owed to another payment. Sent again, each verdict gives the same result.
   */
  resolve(move: moves.ResolveMove): Promise<moves.Resolved>

  /** Stores what a balance was sold with, in one atomic step, if its slot has none. After the end of the period it does nothing. */
  sell?(move: moves.SellMove): Promise<void>

  /** Deletes a balance. Called when it is proved that nothing was charged for it. */
  drop?(slot: string): Promise<void>

  /**
   * A `close` that counts, and says what is left. It counts exactly where it takes the claim of this token to `completed`. Sent
   * again it answers `closed` and counts nothing. Where the claim is another's or gone, it counts nothing and is `superseded`. It
   * counts after its lease has lapsed too, and never more than is unused: what was served late is the seller's loss.
   */
  count?(move: moves.CountMove): Promise<moves.UnitsCounted>

  /** The store's own time, in milliseconds since the epoch. Without it each process uses its own clock. */
  now?(): number | Promise<number>
}

/** The moves that balances need. */
export const UNITS_MOVES = ['sell', 'drop', 'count'] as const

/** A store that has what balances need. */
export type UnitsChargeStore = ChargeStore & Required<Pick<ChargeStore, 'sell' | 'drop' | 'count' | 'now'>>
