/** What a call asks of a charge store, and what it is told. */

/** The records that a call holds. Everything under one `slot` (the payer) is stored together, so that moves can be atomic. */
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
    /** The name is the payment's own: the call has no key. */
    readonly isOfPayment?: boolean
  }
  /** The transaction id. */
  readonly payment?: string
  /** The slot is a balance: it has units, and what the call reserves of them is renewed, counted and given back with its claim. */
  readonly hasUnits?: boolean
}

/** A hold, and its lease. */
export interface LeasedHold extends Hold {
  /** How long no other call may take the claim or the payment, in milliseconds, unless the lease is renewed. */
  readonly leaseMs: number
}

/** The arguments of `open`. */
export interface OpenMove extends LeasedHold {
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
  /**
   * For a slot that has units: the most that the call may cost. It is reserved in the same move, where the claim opens. Sent again
   * by its token, it replaces its reservation.
   */
  readonly take?: number
}

/**
 * What became of a `take`. `unused` are the units that are not counted, reserved ones included; `free` are those that are neither.
 * `short`: the claim is opened, and nothing is reserved. `none`: there is no such balance, or its period is over.
 */
export type UnitsTaken =
  | { readonly verdict: 'taken'; readonly unused: number }
  | { readonly verdict: 'short'; readonly unused: number; readonly free: number }
  | { readonly verdict: 'none' }

/**
 * The result of `open`. `full`: too many calls are running. A record that was paid for is never dropped to make room
 * for them. `notKept`: the call was charged, and its answer was dropped since, to keep its owner within its budget.
 * `unsure`: a claim lies under the name, and the payment is unknown; nothing was taken.
 */
export type Opened =
  | { readonly verdict: 'opened'; readonly units?: UnitsTaken }
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
export interface RecordMove extends LeasedHold {
  /** What a successor needs. */
  readonly recorded: Recorded
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
  /** For a slot that has units: what the call cost. `complete` counts it, with an answer or without one. */
  readonly charge?: number
}

/** The result of `close`. */
export type Closed = 'closed' | 'superseded'

/** The arguments of `sell`. */
export interface SellMove {
  /** The balance. */
  readonly slot: string
  /** How many are sold. */
  readonly units: number
  /** The end of the period, by the store's own time, in milliseconds since the epoch. */
  readonly expiresAtMs: number
}

/** The arguments of `count`. */
export interface CountMove extends CloseMove {
  readonly how: 'complete'
  readonly charge: number
}

/** The result of `count`. */
export interface UnitsCounted {
  /** As of `close`. */
  readonly verdict: Closed
  /** The units that are not counted now, reserved ones included; absent where the balance is gone. */
  readonly unused?: number
}

/** The arguments of `resolve`. */
export interface ResolveMove extends LeasedHold {
  /** The recorded payment's transaction id. */
  readonly txId: string
  /** `found`: the recorded answer is owed. `dead`: the payment can never land. */
  readonly verdict: 'found' | 'dead'
  /** How long a completed claim is replayed. */
  readonly retentionMs: number
}

/**
 * The result of `resolve`. `completed`: the recorded answer is to be replayed. `opened`: this call holds the claim
 * and the presented payment, as after `open`. `spent`: the presented payment belongs to another call and is spent.
 * `moved`: another call resolved the claim first, or holds the presented payment.
 */
export type Resolved = 'completed' | 'opened' | 'spent' | 'moved'
