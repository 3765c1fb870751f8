/**
 * What a seller owes its callers: payments that landed and were not, or not wholly, answered. Amounts and payers come from the
 * chain. A later payment from `payTo` to the payer whose note names the transaction sends it back. One of the same amount without
 * such a note may be a refund or a purchase: it counts where the seller says so.
 */
import { reportsCharge } from '../../domain/income-bookings.js'
import { OUTCOMES } from '../../domain/machines/charge.machine.js'
import type { EndedCall } from '../../ports/call-observer.js'
import { type Clock, systemClock } from '../../ports/clock.js'
import type { JournalRun } from '../journal/line-format.js'
import type { Finding } from './audit-findings.js'
import type { Transfer } from './incoming-transfers.js'
import {
  type ReconciliationOptions,
  type ReconciliationReport,
  reconcileJournal,
} from './reconciliation-report.js'

export const OWED_REASONS = {
  told_not_charged: 'the caller was told "not charged", and the payment landed',
  settled_in_doubt: 'the caller was told settlement_unknown, the payment landed, and no answer followed',
  answered_elsewhere:
    'the caller was told that another server answers for the payment, and these journals have no such answer',
  answer_not_kept:
    'the payment landed after its call had ended without an answer, and the caller, who asked again, was told that it was not kept',
  stream_broken: 'the stream broke: the caller paid for all of it, and did not get all of it',
  stream_left: 'the caller broke the stream off: it went, or stopped reading',
  window_sold:
    'the first answer broke or was not kept, and the caller has the key of the window that the payment bought',
} as const

/** Of these payments the seller may keep what it thinks right: something was delivered, or can still be had. */
const MAY_BE_KEPT: ReadonlySet<OwedReason> = new Set(['stream_left', 'window_sold'])

export type OwedReason = keyof typeof OWED_REASONS

export interface OwedRefund
  extends Pick<Transfer, 'txId' | 'payer' | 'amount' | 'landedMs'>,
    Partial<Pick<EndedCall, 'endpoint' | 'windowEndsMs'>> {
  readonly reason: OwedReason
  readonly run?: string
  /** The payment that sent it back; absent where it is still owed. */
  readonly sentBackBy?: string
  /** A payment that may have sent it back: its note names no transaction. */
  readonly maybeSentBackBy?: string
}

export interface OwedReport {
  readonly books: ReconciliationReport
  readonly refunds: readonly OwedRefund[]
  /** Not owed as a whole: streams that their callers broke off, and windows whose first answer broke. Oldest first. */
  readonly mayBeKept: readonly OwedRefund[]
  /** Transfers that no run tells of. Some may be owed, too. */
  readonly unexplained: number
}

type Suspect = Pick<OwedRefund, 'reason' | 'txId' | 'endpoint' | 'run' | 'windowEndsMs'>

export interface OwedOptions extends ReconciliationOptions {
  readonly knownRefunds?: ReadonlySet<string>
  readonly clock?: Pick<Clock, 'now'>
}

export async function owedRefunds(options: OwedOptions): Promise<OwedReport> {
  const unanswered = new Map<string, Suspect>()
  const suspect = (run: EndedCall, reason: OwedReason) => {
    const { id, txId, endpoint, windowEndsMs } = run
    if (txId !== undefined && reportsCharge(run))
      unanswered.set(txId, { reason, txId, endpoint, run: id, windowEndsMs })
  }
  const books = await reconcileJournal({
    ...options,
    onBooked(run) {
      if (run.final === 'answerNotKept') suspect(run, run.windowEndsMs ? 'window_sold' : 'answer_not_kept')
    },
    onBroken(run) {
      const reason = run.brokenBy === 'caller' ? 'stream_left' : 'stream_broken'
      suspect(run, run.windowEndsMs ? 'window_sold' : reason)
    },
  })
  if (unanswered.size > 0) await leaveOutAnswered(unanswered, options)
  const suspects: Suspect[] = [
    ...books.differences.flatMap(({ finding, txId, endpoint, run }) =>
      isOwed(finding) && txId !== undefined ? [{ reason: finding, txId, endpoint, run }] : [],
    ),
    ...unanswered.values(),
  ]
  const { knownRefunds, clock = systemClock } = options
  const { payTo, asset } = books.header
  const transfers = options.transfers(books.header)

  /** Only what the chain has is owed: a run may name a payment that never landed, or that paid somebody else. */
  async function landedOf(suspects: readonly Suspect[]): Promise<OwedRefund[]> {
    const owed = new Map<string, OwedRefund>()
    for (const { txId, ...suspect } of suspects) {
      const transfer = owed.has(txId) ? undefined : await transfers.find(txId)
      if (transfer?.receiver !== payTo || transfer.asset !== asset || transfer.amount === 0n) continue
      const { payer, amount, landedMs } = transfer
      owed.set(txId, { ...suspect, txId, payer, amount, landedMs })
    }
    return [...owed.values()].sort((a, b) => a.landedMs - b.landedMs)
  }

  /** What `payTo` has sent to a payer since, oldest first. Indexers list an account's transactions newest first. */
  async function sentTo({ payer, landedMs }: OwedRefund): Promise<Transfer[]> {
    const found: Transfer[] = []
    const since = { fromMs: landedMs - SECOND_MS, toMs: clock.now() + AHEAD_MS }
    for await (const page of transfers.to(payer, asset, since))
      found.push(...page.filter(transfer => transfer.payer === payTo))
    return found.sort((a, b) => a.landedMs - b.landedMs)
  }

  /** A transfer whose note names a payment counts for that one alone. Of the others each counts for one, the oldest first. */
  async function markedSentBack(owed: readonly OwedRefund[]): Promise<readonly OwedRefund[]> {
    const back = new Map<string, Transfer[]>()
    for (const refund of owed) if (!back.has(refund.payer)) back.set(refund.payer, await sentTo(refund))
    // In this order: a transfer that is a refund for sure is not left for another payment.
    const ways: readonly [
      as: 'sentBackBy' | 'maybeSentBackBy',
      is: (to: Transfer, of: OwedRefund) => boolean,
    ][] = [
      ['sentBackBy', (to, of) => to.amount >= of.amount && to.note?.includes(of.txId) === true],
      ['sentBackBy', (to, of) => to.amount === of.amount && knownRefunds?.has(to.txId) === true],
      ['maybeSentBackBy', (to, of) => to.amount === of.amount && !NAMES_A_TRANSACTION.test(to.note ?? '')],
    ]
    let refunds = owed
    for (const [as, is] of ways)
      refunds = refunds.map(refund => {
        if (refund.sentBackBy !== undefined) return refund
        const by = taken(back.get(refund.payer)!, to => to.landedMs >= refund.landedMs && is(to, refund))
        return by === undefined ? refund : { ...refund, [as]: by }
      })
    return refunds
  }

  try {
    const all = await markedSentBack(await landedOf(suspects))
    const [mayBeKept, refunds] = [true, false].map(is =>
      all.filter(({ reason }) => MAY_BE_KEPT.has(reason) === is),
    ) as [OwedRefund[], OwedRefund[]]
    const unexplained = books.differences.filter(
      ({ finding }) => finding === 'unexplained_transaction',
    ).length
    return { books, refunds, mayBeKept, unexplained }
  } finally {
    await transfers.close()
  }
}

function isOwed(finding: Finding): finding is Finding & OwedReason {
  return finding in OWED_REASONS
}

/** Another run may have given the whole answer, in any of the journals: a replay, or a call that settled slowly. */
async function leaveOutAnswered(
  unanswered: Map<string, Suspect>,
  { journal }: Pick<ReconciliationOptions, 'journal'>,
): Promise<void> {
  for await (const { runs, streams } of journal()) {
    for (const run of runs) if (run.txId !== undefined && isAnswer(run)) unanswered.delete(run.txId)
    for (const { txId, brokenBy } of streams)
      if (txId !== undefined && brokenBy === undefined) unanswered.delete(txId)
  }
}

/** A call that was taken over keeps its final state, and its caller got another code. */
function isAnswer({ final, code, streamBroken, streaming }: JournalRun): boolean {
  const isWhole = !streamBroken && !streaming
  return (final === 'settled' || final === 'replayed') && code === OUTCOMES[final].code && isWhole
}

function taken(transfers: Transfer[], matches: (transfer: Transfer) => boolean): string | undefined {
  const at = transfers.findIndex(matches)
  return at < 0 ? undefined : transfers.splice(at, 1)[0]!.txId
}

const NAMES_A_TRANSACTION = /\b[A-Z2-7]{52}\b/

/** Blocks have times in whole seconds, and an indexer leaves out the moment that is named. */
const SECOND_MS = 1_000
/** The chain's clock may be ahead of ours. */
const AHEAD_MS = 600_000
