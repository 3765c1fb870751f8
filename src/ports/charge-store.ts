/**
 * Where idempotency keys (claims) and payments are held while they are worth money.
 *
 * Five moves. Each is atomic over the claim and the payment together, takes one round trip, uses the store's own clock,
 * and may be sent again by the same token without doing anything twice. That forbids read-then-write implementations,
 * and an implementation whose two halves can succeed apart. After a crash every recorded payment is still there: only
 * the chain's verdict ends `settling`, a lease never does. Expiry only collects what can no longer matter.
 *
 * A lease says that a call is alive, not how long it takes: calls at work renew theirs. A call whose lease lapsed goes
 * on until it finds that another call took its place; every move is fenced by the token, so it changes nothing then.
 *
 * A store that cannot be reached rejects. Whether a rejected `open`, `record` or `resolve` happened is unknown, but it
 * does not happen any more: each carries a deadline in the store's own time, so that a store that stood still does not
 * make a move come true whose caller was refused. The caller sends a release afterwards, for the case that it happened.
 */
export interface ChargeStore {
  /**
   * Takes the claim and the payment, or neither. Verdicts in this order: reused, replayable, orphaned (which takes the
   * claim's token over), inProgress, spent, inUse, opened.
   */
  open(move: OpenMove): Promise<Opened>

  /** Before settling: both must still bear our token. Keeps what a successor needs to finish or to replay the call. */
  record(move: RecordMove): Promise<'recorded' | 'superseded'>

  /**
   * Renews the leases of calls at work, in one trip for all of them. Answers for each whether all that it holds still
   * bears its token; one that does not is left as it is.
   */
  renew(holds: readonly Hold[], leaseMs: number): Promise<readonly boolean[]>

  /**
   * Moves both at once; a no-op for whatever does not bear our token, and for a recorded claim that another call
   * recorded: a successor resolves it and never closes it. `closed` where this move ended all that the call
   * holds; `superseded` where anything of it was not there, not ours, or could not be moved. After `closed` a `release`
   * proves that no other call has the payment.
   */
  close(move: CloseMove): Promise<Closed>

  /**
   * After an `orphaned` open: the chain's verdict on the recorded payment, fenced by the token that the open took. A
   * token that is not the claim's gets `moved`, also where the claim is completed by now: the answer in it may be owed to
   * another payment. Sent again, each verdict gives the same result.
   */
  resolve(move: ResolveMove): Promise<Resolved>
}

/** What a call holds. Everything under one `slot` (the payer) lives together, so that moves can be atomic. */
export interface Hold {
  /** The payer, or whoever else the key belongs to. */
  readonly slot: string
  /** Unique per call: a fencing token. */
  readonly token: string
  /** The idempotency key, and what it was sent with. */
  readonly claim?: {
    /** The key, in its caller's scope. */
    readonly name: string
    /** Tells a call that is sent again from another one under the same key. */
    readonly bodyHash: string
  }
  /** The transaction id. */
  readonly payment?: string
}

/** What `open` takes. */
export interface OpenMove extends Hold {
  /** For how long no other call may take either, unless it is renewed. */
  readonly leaseMs: number
}

/** What `open` found. `full`: there are too many calls at work. Nothing that was paid for makes room for them. */
export type Opened =
  | { readonly verdict: 'opened' }
  | { readonly verdict: 'reused' }
  | { readonly verdict: 'replayable'; readonly answer: Uint8Array }
  | { readonly verdict: 'orphaned'; readonly recorded: Recorded }
  | { readonly verdict: 'inProgress'; readonly retryAfterMs: number }
  | { readonly verdict: 'inUse'; readonly retryAfterMs: number }
  | { readonly verdict: 'spent' }
  | { readonly verdict: 'full' }

/** What a successor finds of a call that stopped while settling. */
export interface Recorded {
  /** As it is to be sent. */
  readonly answer: Uint8Array
  /** The payment that was being settled; without it, no chain can be asked and only time ends the claim. */
  readonly payment?: RecordedPayment
}

/** A payment, as the chain can be asked about it. */
export interface RecordedPayment {
  /** The transaction id. */
  readonly txId: string
  /** The first round in which it may land. */
  readonly firstValid: bigint
  /** The last one. */
  readonly lastValid: bigint
}

/** What `record` takes. */
export interface RecordMove extends Hold {
  /** What a successor will need. */
  readonly recorded: Recorded
  /** After this a successor may ask the chain, unless it is renewed. */
  readonly leaseMs: number
  /** Garbage collection: when the payment can no longer land. */
  readonly paymentTtlMs: number
  /** And when, on top, no replay is owed any more. */
  readonly claimTtlMs: number
}

/** What `close` takes. */
export interface CloseMove extends Hold {
  /** `complete`: landed and owed. `forfeit`: landed, the claim is given up. `release`: nothing landed. */
  readonly how: 'complete' | 'forfeit' | 'release'
  /** How long a completed claim is replayed. */
  readonly retentionMs: number
  /** The answer of a call that recorded nothing, because a window covered it; without one the claim is given back. */
  readonly answer?: Uint8Array
}

/** What `close` did. */
export type Closed = 'closed' | 'superseded'

/** What `resolve` takes. */
export interface ResolveMove extends Hold {
  /** The recorded payment's. */
  readonly txId: string
  /** `found`: the recorded answer is owed. `dead`: the payment can never land. */
  readonly verdict: 'found' | 'dead'
  /** How long a completed claim is replayed. */
  readonly retentionMs: number
  /** For how long nobody else may take what is taken now. */
  readonly leaseMs: number
}

/**
 * What `resolve` did. `completed`: the recorded answer is to be replayed. `opened`: claim and presented payment are ours,
 * as after `open`. `spent`: the presented payment is another call's and spent. `moved`: another call resolved it first, or
 * holds the presented payment.
 */
export type Resolved = 'completed' | 'opened' | 'spent' | 'moved'
