/** The findings of an audit, the worst first, and what to do about each. */
import type { EndedCall } from '../../ports/call-observer.js'

export const FINDINGS = {
  told_not_charged:
    'The caller was told "not charged", and the payment landed. If a process died at that time, a later request of the same payment may have charged it and be answered. If not, refund it. Then ask the facilitator for its settlement record, and report what the run’s path shows.',
  charged_twice:
    'One transaction stands behind several charged runs: answers were given away. Check that all replicas share one charge store.',
  settled_in_doubt:
    'The caller was told that the outcome is unknown, paid, and was given no answer since. Refund, or answer if they ask again.',
  answered_elsewhere:
    'The caller was told that another server had this payment settled, and no run here answers for it. Audit with the journal of that server; if there is none, refund.',
  missing_transaction:
    'The chain has no such transaction: the caller was answered and nothing came. Compare the network and payTo; ask the facilitator for its settlement record.',
  unbooked_transaction:
    'The answer was replayed, and no run books its payment: the line of the call that settled was changed, or its process was killed before it wrote it. Book the payment.',
  unexplained_transaction:
    'No run tells of this transaction. A direct transfer, a journal that is not complete, or a call cut by a crash whose caller never came back: refund or book it.',
  wrong_amount: 'Another amount landed than was recorded. Ask the facilitator what it submitted.',
  wrong_asset:
    'The transaction moved another asset than was recorded. Do not count it as income; ask the facilitator what it submitted.',
  wrong_receiver:
    'The transaction paid somebody else. Set confirm: "chain", and ask the facilitator what it submitted.',
  wrong_payer: 'Another account paid than was recorded. Book it under the account that the chain names.',
  wrong_time:
    'The transaction landed at another time than the run says. Its date was changed, or the clock of its process is wrong: book it when it landed.',
  unknown_endpoint:
    'The agent sells no endpoint of this name, as the head of the journal says. The line was changed, or comes from another journal.',
  illegal_path:
    'No call can end so. The journal was changed, or written by another version: keep it, and compare.',
  edited_line: 'The line was changed after it was written. Keep the file, and compare it with a backup.',
  missing_lines: 'Lines were removed after they were written. Keep the file, and compare it with a backup.',
  doubled_line: 'The line is there a second time. It is counted once where it books a payment.',
  moved_line: 'The line stands elsewhere than it was written. Keep the file, and compare it with a backup.',
  indexer_behind: 'The node has it, the indexer not yet. Audit again in a minute.',
} as const

export type Finding = keyof typeof FINDINGS

export interface Difference {
  readonly finding: Finding
  readonly says: string
  readonly txId?: string
  readonly run?: string
  readonly endpoint?: string
  readonly atMs: number
}

export function differenceOf(
  { id, endpoint, txId, startedMs }: EndedCall,
  finding: Finding,
  says: string,
): Difference {
  return { finding, says, txId, run: id, endpoint, atMs: startedMs }
}

const RANKS = new Map(Object.keys(FINDINGS).map((finding, rank) => [finding, rank]))

export function bySeverity(a: Difference, b: Difference): number {
  return RANKS.get(a.finding)! - RANKS.get(b.finding)! || a.atMs - b.atMs
}
