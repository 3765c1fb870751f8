/**
 * Holds idempotency keys (claims) and payments as long as a charge depends on them.
 *
 * Five moves. Each is atomic over the claim and the payment together, takes one round trip, uses the store's own
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
  open(move: OpenMove): Promise<Opened>

  /**
   * Called before settling: claim and payment must still have the call's token. Keeps what a successor needs to
   * finish or to replay the call. Sent again while the outcome is open, its answer replaces the recorded one.
   */
  record(move: RecordMove): Promise<'recorded' | 'superseded'>

  /**
   * Renews the leases of running calls, in one request for all of them. Returns for each hold whether everything in
   * it still has its token. A record with another token stays unchanged.
   */
  renew(holds: readonly Hold[], leaseMs: number): Promise<readonly boolean[]>

  /**
   * Closes the claim and the payment together. Changes nothing that does not have the call's token, and no claim that
   * another call recorded: a successor resolves such a claim and never closes it. `closed`: this move ended
   * everything that the call holds. `superseded`: a part of it was missing, had another token, or could not be moved.
   * After `closed`, a `release` proves that no other call has the payment.
   */
  close(move: CloseMove): Promise<Closed>

  /**
   * Applies the chain's verdict on the recorded payment, fenced by the token: of the call that recorded, or the one that an
   * `orphaned` open took over. If the claim has another token, returns `moved`, even if the claim is completed by now: its answer
   * may be owed to another payment. Sent again, each verdict gives the same result.
   */
  resolve(move: ResolveMove): Promise<Resolved>
}

/**
 * The records that a call holds. Everything under one `slot` (the payer) is stored together, so that moves can be
 * atomic.
 */
export interface Hold {
  /** The payer, or another owner of the key. */
  readonly slot: string
  /** Unique per call: a fencing token. */
  readonly token: string
  /** The idempotency key, and the hash of the body that came with it. */
  readonly claim?: {
    /** The key, in its caller's scope. */
    readonly name: string
    /** Distinguishes a retry from another call under the same key. */
    readonly bodyHash: string
    /** The name is the payment's own. Without its answer it protects nothing that the payment does not protect. */
    readonly isOfPayment?: boolean
  }
  /** The transaction id. */
  readonly payment?: string
}

/** The arguments of `open`. */
export interface OpenMove extends Hold {
  /** How long no other call may take the claim or the payment, in milliseconds, unless the lease is renewed. */
  readonly leaseMs: number
  /**
   * Nothing but the payment's bytes speaks for the caller: a payment that landed is public, and a short key can be guessed.
   * Such a caller opens a claim in two cases: the call at work for this very payment holds it; or the claim's outcome was in
   * doubt, its recorded payment is this one, and it comes from the same `caller`. Else the claim counts as absent where the
   * payment is another call's or spent, and the verdict is `unsure` where the store does not know the payment.
   */
  readonly isBearer?: boolean
  /** Stands for the caller's address; kept with a claim that this move opens. Without it a bearer opens no claim in doubt. */
  readonly caller?: string
  /**
   * The name under which the payment's answer is kept where it has lost its key. It is looked up first, for a spent payment,
   * because another payment may have the key since; never for a bearer.
   */
  readonly answerName?: string
}

/**
 * The result of `open`. `full`: too many calls are running. A record that was paid for is never dropped to make room
 * for them. `notKept`: the call was charged, and its answer was dropped since, to keep its owner within its budget.
 * `unsure`: a claim lies under the name, and the payment is unknown; nothing was taken.
 */
export type Opened =
  | { readonly verdict: 'opened' }
  | { readonly verdict: 'reused' }
  | { readonly verdict: 'replayable'; readonly answer: Uint8Array }
  | { readonly verdict: 'notKept'; readonly txId?: string }
  | { readonly verdict: 'unsure' }
  | { readonly verdict: 'orphaned'; readonly recorded: Recorded }
  | { readonly verdict: 'inProgress'; readonly retryAfterMs: number }
  | { readonly verdict: 'inUse'; readonly retryAfterMs: number }
  | { readonly verdict: 'spent' }
  | { readonly verdict: 'full' }

/** What a successor finds after a call that stopped while settling. */
export interface Recorded {
  /** The answer, in the form in which it is sent. */
  readonly answer: Uint8Array
  /** The payment that was being settled. Without it, the chain cannot be asked, and only time ends the claim. */
  readonly payment?: RecordedPayment
}

/** The facts by which the chain can be asked about a payment. */
export interface RecordedPayment {
  /** The transaction id. */
  readonly txId: string
  /** The first round in which it may land. */
  readonly firstValid: bigint
  /** The last one. */
  readonly lastValid: bigint
}

/** The arguments of `record`. */
export interface RecordMove extends Hold {
  /** What a successor needs. */
  readonly recorded: Recorded
  /** How long a successor must wait before it may ask the chain, in milliseconds, unless the lease is renewed. */
  readonly leaseMs: number
  /** For garbage collection: how long the payment can still land, in milliseconds. */
  readonly paymentTtlMs: number
  /** For garbage collection: how long the payment can still land and then a replay may be owed, in milliseconds. */
  readonly claimTtlMs: number
}

/** The arguments of `close`. */
export interface CloseMove extends Hold {
  /**
   * `complete`: the payment landed, and the answer is owed. `forfeit`: it landed, and the claim is given up; with `answerName`
   * its answer is kept under that name. `release`: nothing landed.
   */
  readonly how: 'complete' | 'forfeit' | 'release'
  /** How long the answer is kept. */
  readonly retentionMs: number
  /** For `forfeit`: the payment's own name for its answer. */
  readonly answerName?: string
  /**
   * The answer that is kept from now on, instead of a recorded one: of a call that recorded nothing because a window
   * covered it, or of a stream that has ended. If nothing was recorded and this is absent, the claim is released.
   */
  readonly answer?: Uint8Array
}

/** The result of `close`. */
export type Closed = 'closed' | 'superseded'

/** The arguments of `resolve`. */
export interface ResolveMove extends Hold {
  /** The recorded payment's transaction id. */
  readonly txId: string
  /** `found`: the recorded answer is owed. `dead`: the payment can never land. */
  readonly verdict: 'found' | 'dead'
  /** How long a completed claim is replayed. */
  readonly retentionMs: number
  /** How long no other call may take what this move takes, in milliseconds. */
  readonly leaseMs: number
}

/**
 * The result of `resolve`. `completed`: the recorded answer is to be replayed. `opened`: this call holds the claim
 * and the presented payment, as after `open`. `spent`: the presented payment belongs to another call and is spent.
 * `moved`: another call resolved the claim first, or holds the presented payment.
 */
export type Resolved = 'completed' | 'opened' | 'spent' | 'moved'
