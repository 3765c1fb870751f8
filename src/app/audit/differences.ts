/** What an audit may find, and what to do about each. */

export const FINDINGS = {
  missing_transaction:
    'The chain has no such transaction: the caller was answered and nothing came. Compare the network and payTo; ask the facilitator for its settlement record.',
  indexer_behind: 'The node has it, the indexer not yet. Audit again in a minute.',
  wrong_amount: 'Another amount landed than was recorded. Ask the facilitator what it submitted.',
  wrong_asset:
    'The transaction moved another asset. Do not count it as income; ask the facilitator what it submitted.',
  wrong_receiver:
    'The transaction paid somebody else. Set confirm: "chain", and ask the facilitator what it submitted.',
  charged_twice:
    'One transaction stands behind several charged runs: answers were given away. Check that all replicas share one charge store.',
  settled_in_doubt:
    'The caller was told that the outcome is unknown, paid, and was given no answer since. Refund, or answer if they ask again.',
  unexplained_transaction:
    'No run tells of this transaction. A direct transfer, a journal that is not complete, or a call cut by a crash whose caller never came back: refund or book it.',
  illegal_path:
    'No call can end so. The journal was changed, or written by another version: keep it, and compare.',
} as const

export type Finding = keyof typeof FINDINGS

export interface Difference {
  readonly finding: Finding
  /** What differs, in one line. */
  readonly says: string
  readonly txId?: string
  /** The run's id, where there is a run. */
  readonly run?: string
  readonly endpoint?: string
  readonly atMs: number
}
