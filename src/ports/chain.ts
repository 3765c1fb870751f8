/** Reads the chain. Where a node does not answer, lags, errs or is of another network, it says `undefined` or `unknown`: no guess. */
export interface Chain {
  /**
   * An estimate of the current round, from a recently read one. It is never above the newest round. `undefined` where
   * no node has answered recently. Cheap enough for every paid request: an implementation caches, refreshes in the
   * background, and does not make callers wait repeatedly for a node that is down.
   */
  round(): Promise<bigint | undefined>

  /**
   * Whether a transaction has landed.
   *
   * `absent` is a proof: first a round past `lastValid` was read, then every block of the window (or an indexer that
   * is past it). All of them answered, and none of them holds the id. With less than that, the result is `unknown`.
   */
  lookup(txId: string, window: Validity): Promise<Landing>

  /**
   * Whether a transaction has landed in the node's last thousand rounds, so that anyone can read it. Fast, but no
   * proof: false says only that the node does not know it. `undefined` where the node does not answer.
   */
  hasLanded(txId: string): Promise<boolean | undefined>

  /** The node's last known status; sends no request. A node can be replaced, so no status is kept forever. */
  status(): ChainStatus
}

/** In rounds. An indexer does not name its network: one that is further ahead of the node than this follows another network. */
export const INDEXER_AHEAD_MAX = 1_000n

/** The rounds in which a transaction may land. */
export interface Validity {
  readonly firstValid: bigint
  readonly lastValid: bigint
}

/** `wrongNetwork` lasts until the node reports the right network: a node that stops answering keeps this status. */
export type ChainStatus = 'unasked' | 'ok' | 'wrongNetwork' | 'unanswered'

export type Landing = 'found' | 'absent' | 'unknown'
