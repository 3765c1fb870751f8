/** `svc refunds`: what is owed to callers, by the journals and the chain. Sends nothing. Exit code 1 where something is owed. */
import { OWED_REASONS, type OwedRefund, type OwedReport } from '../../src/audit/index.js'
import { formatUsd, SvcError } from '../../src/domain/index.js'
import { command } from '../define-command.js'
import { booksOf, JOURNAL_FLAGS, JOURNALS } from '../journals.js'
import { columns, json, printable, styled, tell } from '../output.js'

export const refundsCommand = command({
  name: 'refunds',
  says: 'list what is owed to callers: payments that landed and were not answered, or not wholly',
  takes: JOURNALS,
  flags: [
    ...JOURNAL_FLAGS,
    ['--sent <transactions...>', 'payments without a note that you know to be refunds'],
    ['--json', 'print the list as JSON'],
  ],
  help: `
It sends nothing: send an amount back from the account that was paid, with your wallet, and name the payment in the note: "refund of
<its transaction>". Then this finds it on the chain. The exit code is 1 where something is still owed.

An agent remembers its last calls alone: its journal has them all. The token of its audit page is read from SVC_AUDIT_TOKEN.

Examples:
  $ svc refunds runs.jsonl
  $ svc refunds http://localhost:4021`,
}).does(async (journals, flags) => {
  const report = await (await booksOf(journals, flags)).owed(new Set(flags.sent))
  tell(flags, json(asJson(report), 'indented'), described(report))
  const owed = stillOwed(report)
  const sum = owed.reduce((before, { amount }) => before + amount, 0n)
  if (owed.length > 0)
    throw new SvcError(
      `${formatUsd(sum)} is owed, for ${owed.length} ${owed.length === 1 ? 'payment' : 'payments'}`,
      'refunds_owed',
    )
  if (isIncomplete(report)) throw new SvcError(INCOMPLETE, 'journal_incomplete')
})

const INCOMPLETE = 'The journals are not complete: more may be owed (svc audit says more)'

function isIncomplete({ books: { lost, unreadable, more, missing } }: OwedReport): boolean {
  return lost > 0 || unreadable > 0 || more || missing?.isInPeriod === true
}

function stillOwed({ refunds: all }: OwedReport): readonly OwedRefund[] {
  return all.filter(({ sentBackBy }) => sentBackBy === undefined)
}

function described(report: OwedReport): string[] {
  const { refunds: all, mayBeKept, unexplained } = report
  const { missing } = report.books
  const isOwed = stillOwed(report).length > 0
  return [
    ...(missing
      ? [
          `These journals begin at ${new Date(missing.beforeMs).toISOString()}: the server has deleted older lines.`,
          '',
        ]
      : []),
    ...all.flatMap(refund => describedRefund(refund, 'owed')),
    ...mayBeKept.flatMap(refund => describedRefund(refund, 'yours to decide')),
    ...(isOwed ? [] : ['Nothing is owed, as far as these journals and the chain say.']),
    ...(isOwed && isIncomplete(report) ? [INCOMPLETE] : []),
    ...(unexplained > 0
      ? [
          `${unexplained} more transfers arrived that no run tells of: svc audit lists them. Some may be owed, too.`,
        ]
      : []),
  ]
}

function describedRefund(refund: OwedRefund, unsent: 'owed' | 'yours to decide'): string[] {
  const { reason, payer, amount, txId, landedMs, endpoint, run, windowEndsMs } = refund
  const { sentBackBy, maybeSentBackBy } = refund
  const state = sentBackBy === undefined ? styled('yellow', unsent) : styled('green', 'sent back')
  return [
    `${state}  ${formatUsd(amount)} in USDC to ${printable(payer)}`,
    ...columns([
      ['why', OWED_REASONS[reason]],
      ['payment', `${txId}, ${new Date(landedMs).toISOString()}`],
      ['window', windowEndsMs === undefined ? undefined : `ends ${new Date(windowEndsMs).toISOString()}`],
      ['call', run && `${run}, endpoint ${endpoint}`],
      ['back in', sentBackBy],
      ['perhaps', maybeSentBackBy && `sent back in ${maybeSentBackBy}; if so, add --sent ${maybeSentBackBy}`],
    ]).map(line => `  ${line}`),
    '',
  ]
}

function asJson({ books, refunds, mayBeKept, unexplained }: OwedReport) {
  const { header, period, missing, lost, unreadable, more } = books
  const listed = (all: readonly OwedRefund[]) =>
    all.map(({ amount, ...refund }) => ({ ...refund, amount, asset: header.asset }))
  const lists = { refunds: listed(refunds), mayBeKept: listed(mayBeKept) }
  return { books: header, period, missing, ...lists, unexplained, lost, unreadable, more }
}
