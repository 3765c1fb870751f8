/** The real audit over the journal of all processes, against what has landed. */

import {
  type Finding,
  type IncomingTransfers,
  type JournalPiece,
  type OwedReport,
  owedRefunds,
  reportsCharge,
  type Transfer,
} from '../../../src/simulation-parts.js'
import { streamOf } from '../world/journals.js'
import type { World } from '../world/world.js'

/** What an audit finds where the call that charged died before it wrote its line. */
const UNTOLD: ReadonlySet<Finding> = new Set([
  'unexplained_transaction',
  'unbooked_transaction',
  'told_not_charged',
])
const SKEWED: ReadonlySet<Finding> = new Set(['told_not_charged', 'unexplained_transaction'])
const HOUR_MS = 3_600_000

export async function audited(world: World): Promise<void> {
  const { truth, conditions, journals } = world
  if (truth.calls.length === 0) return
  const startedMs = truth.calls.map(call => call.startedMs)
  const span = conditions.skewMs + HOUR_MS
  const period = { fromMs: Math.min(...startedMs) - span, toMs: Math.max(...startedMs) + span }
  const pieces = await journals.read()
  linesAreThere(world, pieces)
  const owed = await owedRefunds({
    async *journal() {
      yield* pieces
    },
    transfers: () => transfersOf(world),
    period,
    nowMs: () => period.toMs + HOUR_MS,
    clock: { now: () => period.toMs },
  })
  refundsAreOwed(world, owed)
  const allowed = new Set<Finding>([
    'settled_in_doubt',
    ...(conditions.skewMs > 0 ? (['wrong_time'] as const) : []),
  ])
  for (const { finding, says, txId } of owed.books.differences) {
    if (allowed.has(finding) || (txId && truth.byPayer.has(txId))) continue
    // The call that charged it died with its process, before it could say so.
    const died = hasDied(world, txId)
    if (died && UNTOLD.has(finding)) continue
    // A store that forgot a payment lets it be answered twice. The chain took it once.
    if (finding === 'charged_twice' && txId && truth.losses.payment(txId)) continue
    // Of two processes whose clocks differ an audit cannot say which word was the last, nor whether a call began before its
    // payment landed.
    const isDoubted = truth.calls.some(call => call.txId === txId && call.charged === 'maybe')
    if (SKEWED.has(finding) && isDoubted && conditions.skewMs > 0) continue
    truth.violated('books-balance', `${finding}: ${says} (${txId})`)
  }
}

/** A call about it died with its process: before it ended, or before its line was written. */
function hasDied({ truth, journals }: World, txId: string | undefined): boolean {
  return (
    truth.holds.some(hold => hold.txId === txId && !truth.endedMs.has(hold.call)) ||
    truth.calls.some(call => call.txId === txId && journals.mayLack(call.id))
  )
}

/** Of what was charged each process writes a line, unless it dies first. */
function linesAreThere({ truth, journals }: World, pieces: readonly JournalPiece[]): void {
  const written = new Set(
    pieces.flatMap(({ runs, streams }) => [
      ...runs.map(({ id }) => id),
      ...streams.map(({ stream }) => stream),
    ]),
  )
  for (const call of truth.calls)
    if (reportsCharge(call) && !written.has(call.id) && !journals.mayLack(call.id))
      truth.violated('books-balance', `${call.id} charged ${call.txId}, and its process wrote no line`)
  for (const { flaws, missing } of pieces)
    if (flaws.length > 0 || missing)
      truth.violated('books-balance', `the journal has flaws: ${JSON.stringify({ flaws, missing })}`)
}

/** Of two processes whose clocks differ nobody can say which word was the last. */
function refundsAreOwed(world: World, { refunds, mayBeKept }: OwedReport): void {
  const { truth, ledger, conditions } = world
  if (conditions.skewMs > 0) return
  for (const { txId, reason } of refunds)
    if (truth.delivered.has(txId) && !hasDied(world, txId))
      truth.violated('refunds-are-owed', `${txId} is on the list (${reason}), and was answered`)
  const listed = new Set([...refunds, ...mayBeKept].map(({ txId }) => txId))
  const doubted = truth.calls.flatMap(({ txId, final }) => (txId && final === 'inDoubt' ? [txId] : []))
  for (const txId of new Set(doubted)) {
    const isAnswered = truth.calls.some(call => call.txId === txId && ANSWERS.has(call.final))
    const isLanded = ledger.landed(txId) && !truth.byPayer.has(txId)
    if (isLanded && !isAnswered && !hasDied(world, txId) && !listed.has(txId))
      truth.violated(
        'refunds-are-owed',
        `${txId} landed in doubt and was answered by nobody: not on the list`,
      )
  }
  for (const txId of brokenStreams(world))
    if (ledger.landed(txId) && !listed.has(txId))
      truth.violated('refunds-are-owed', `${txId} paid for a stream that nobody had whole: not on the list`)
}

/** Payments for streams that broke, or whose process died, where no call gave the whole answer. */
function brokenStreams({ truth, journals }: World): string[] {
  const { journal, streamEnds, calls } = truth
  const whole = new Set(
    calls.flatMap(({ txId, final, streamBroken }) => (ANSWERS.has(final) && !streamBroken ? [txId] : [])),
  )
  const ended = new Set(streamEnds.flatMap(({ id, brokenBy }) => (brokenBy ? [] : [id])))
  return journal.flatMap(({ id, txId, streaming }) =>
    streaming &&
    !journals.mayLack(streamOf({ id })) &&
    txId !== undefined &&
    !ended.has(id) &&
    !whole.has(txId)
      ? [txId]
      : [],
  )
}

const ANSWERS: ReadonlySet<string> = new Set(['settled', 'replayed'])

function transfersOf({ ledger }: World): IncomingTransfers {
  const all: Transfer[] = ledger
    .transactions()
    .flatMap(({ txId, sender, receiver, amount, asset, landedAt }) =>
      asset === null
        ? []
        : [{ txId, payer: sender, receiver, asset: String(asset), amount, landedMs: landedAt * 1_000 }],
    )
  return {
    async *to(payTo, asset, { fromMs, toMs }) {
      yield all.filter(
        each =>
          each.receiver === payTo && each.asset === asset && each.landedMs >= fromMs && each.landedMs < toMs,
      )
    },
    find: async txId => all.find(each => each.txId === txId),
    close: async () => {},
  }
}
