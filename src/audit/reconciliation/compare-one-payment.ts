/** Compares the runs of one payment with the transfer that landed. */
import { reportsCharge } from '../../domain/income-bookings.js'
import { OUTCOMES } from '../../domain/machines/charge.machine.js'
import { formatUsd } from '../../domain/money.js'
import type { EndedCall } from '../../ports/call-observer.js'
import type { JournalHeader } from '../journal/journal-lines.js'
import { isNear } from './audited-period.js'
import { type Difference, differenceOf } from './findings.js'
import type { Transfer } from './incoming-transfers.js'
import { paymentOf } from './payment-fingerprints.js'

/** Two runs that settled it are two answers for one payment. One that settled and one that found it landed are correct. */
export function reportedTwice(bookings: readonly EndedCall[]): Difference[] {
  const differences: Difference[] = []
  const ids = new Set<string>()
  for (const run of bookings) {
    if (ids.has(run.id)) differences.push(differenceOf(run, 'doubled_line', 'the run is there again'))
    ids.add(run.id)
  }
  const settled = new Set(bookings.filter(({ charged }) => charged === 'yes').map(({ id }) => id))
  if (settled.size > 1) {
    const says = `${settled.size} charged runs: ${[...settled].join(', ')}`
    differences.push(differenceOf(bookings[0]!, 'charged_twice', says))
  }
  return differences
}

export function unequalParts(run: EndedCall, landed: Transfer, header: JournalHeader): Difference[] {
  const differs = (finding: Parameters<typeof differenceOf>[1], says: string) =>
    differenceOf(run, finding, says)
  const { amount } = paymentOf(run)
  const found: Difference[] = []
  if (landed.asset !== header.asset || (run.asset ?? header.asset) !== landed.asset)
    found.push(
      differs('wrong_asset', `it moved asset ${landed.asset || 'none'}, not ${run.asset ?? header.asset}`),
    )
  if (landed.receiver !== header.payTo)
    found.push(differs('wrong_receiver', `it paid ${landed.receiver}, not ${header.payTo}`))
  if (landed.amount !== amount)
    found.push(
      differs('wrong_amount', `${formatUsd(landed.amount)} landed, ${formatUsd(amount)} was recorded`),
    )
  if (run.payer !== undefined && run.payer !== landed.payer)
    found.push(differs('wrong_payer', `${landed.payer} paid, ${run.payer} was recorded`))
  const timed = misdated(run, landed)
  return timed ? [...found, timed] : found
}

/** A run that settled is as old as its payment; a run that found it landed is younger. */
export function misdated(run: EndedCall, { landedMs }: Transfer): Difference | undefined {
  const { startedMs, ms, charged } = run
  const fromMs = charged === 'yes' ? startedMs : Number.NEGATIVE_INFINITY
  if (isNear(landedMs, { fromMs, toMs: startedMs + ms })) return undefined
  const [landed, said] = [landedMs, startedMs].map(moment)
  return differenceOf(run, 'wrong_time', `it landed at ${landed}, and the run began at ${said}`)
}

/** Of several runs the last one counts: a payment may be presented again after a call that did not charge it. */
export function unbooked(transfer: Transfer, runs: readonly EndedCall[]): Difference | undefined {
  if (runs.some(reportsCharge)) return undefined
  const amount = `${formatUsd(transfer.amount)} from ${transfer.payer}`
  const unbookedBy = (run: EndedCall, what: string) =>
    differenceOf(run, 'unbooked_transaction', `${amount} landed, and was ${what}`)
  const replay = runs.find(({ final }) => final === 'replayed')
  if (replay) return unbookedBy(replay, 'replayed only')
  const answerable = runs.filter(run => mayHaveCharged(run, transfer))
  const told = answerable
    .filter(({ charged, final, code }) => charged === 'maybe' || !namesAsTaken(final, code))
    .sort((a, b) => a.startedMs + a.ms - b.startedMs - b.ms)
    .at(-1)
  if (told?.charged === 'maybe') return differenceOf(told, 'settled_in_doubt', `${amount} landed`)
  if (told)
    return differenceOf(told, 'told_not_charged', `${amount} landed, and the caller was told ${told.code}`)
  const yielded = answerable.find(({ path }) => path.includes('settling.elsewhere'))
  if (yielded)
    return differenceOf(
      yielded,
      'answered_elsewhere',
      `${amount} landed, and the caller was told ${yielded.code}`,
    )
  // Last: a run that told the caller something about the payment explains more than this one.
  const notKept = runs.find(({ charged }) => charged === 'earlier')
  if (notKept) return unbookedBy(notKept, 'not kept for a replay')
  const says = runs.length === 0 ? amount : `${amount}; run ${runs[0]!.id} answered ${runs[0]!.code}`
  return { finding: 'unexplained_transaction', says, txId: transfer.txId, atMs: transfer.landedMs }
}

/**
 * Whether the run may have caused this transfer: it got as far as recording, and the transfer landed after it began. Anybody can
 * present a transfer that landed for something else, and is turned away before that. `undecided` is an end of a call that found the
 * record of an earlier call of ours, which got so far; when that one began is not known.
 */
function mayHaveCharged({ final, path, startedMs }: EndedCall, { landedMs }: Transfer): boolean {
  if (final === 'undecided') return true
  return path.some(isRecording) && landedMs >= startedMs - CLOCKS_DIFFER_MS
}

function isRecording(step: string): boolean {
  return String(step).startsWith('recording.')
}

/** A block has the time of its proposer in whole seconds, and a run that of its own process. */
const CLOCKS_DIFFER_MS = 60_000

/** A call that was taken over keeps the path that it walked, and its caller got `superseded`. */
function namesAsTaken(final: string, code: string): boolean {
  return final === 'paymentSpent' || code === OUTCOMES.superseded.code
}

function moment(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString()
}
