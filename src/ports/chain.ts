/**
 * What the chain says. A node that does not answer, lags, errs or is of another network leads to `undefined` or `unknown`,
 * never to a guess.
 */
export interface Chain {
  /**
   * An estimate of the current round from a recently read one, never above what has been produced. `undefined` where no
   * node has answered recently. Cheap enough for every paid request: an implementation caches, refreshes in the
   * background, and does not make callers wait again and again for a node that is down.
   */
  round(): Promise<bigint | undefined>

  /**
   * Whether a transaction has landed.
   *
   * `absent` is a proof, not an impression: a round past `lastValid` was read first, then every block of the window
   * (or an indexer that is past it), all answered, none of them holds the id. Anything less is `unknown`.
   */
  lookup(txId: string, window: Validity): Promise<Landing>

  /**
   * Whether a transaction has landed in the node's last thousand rounds, so that everybody can read it. Quick, and no
   * proof: false says only that the node knows of none. `undefined` where it does not answer.
   */
  hasLanded(txId: string): Promise<boolean | undefined>

  /** What the node last said of itself; asks nothing. A node can be replaced, so no status is kept for ever. */
  status(): ChainStatus
}

/** The rounds in which a transaction may land. */
export interface Validity {
  readonly firstValid: bigint
  readonly lastValid: bigint
}

/** `wrongNetwork` lasts until the node says otherwise: to fall silent does not make it ours. */
export type ChainStatus = 'unasked' | 'ok' | 'wrongNetwork' | 'unanswered'

export type Landing = 'found' | 'absent' | 'unknown'
