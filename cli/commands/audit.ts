/** `svc audit`: compares journals of calls with the chain and with the machine. */
import {
  DAY_COLUMNS,
  type Difference,
  dayRow,
  FINDINGS,
  PAYMENT_COLUMNS,
  paymentRow,
  type ReconciliationReport,
  sumsOfBalances,
} from '../../src/audit/index.js'
import { formatUsd, SvcError } from '../../src/domain/index.js'
import { urlArgument } from '../arguments.js'
import { command } from '../define-command.js'
import { booksOf, JOURNAL_FLAGS, JOURNALS } from '../journals.js'
import { columns, json, note, print, printable } from '../output.js'

export const auditCommand = command({
  name: 'audit',
  says: 'hold journals of calls against the chain and against the machine',
  takes: JOURNALS,
  flags: [
    ...JOURNAL_FLAGS,
    ['--algod <url>', 'a node, asked where the indexer is behind (default: likewise)', urlArgument],
    ['--csv', 'print each payment as CSV, for accountants; all else goes to stderr'],
    [
      '--daily',
      'print what each endpoint took in a day as CSV, instead of each payment',
      { conflicts: 'json' },
    ],
    ['--json', 'print the report as JSON', { conflicts: 'csv' }],
  ],
  help: `
Days are UTC. The token of an audit page is read from SVC_AUDIT_TOKEN.
Exit code 1 if anything differs, with what to do about it; also if the journal lost calls or has lines that cannot be read.

Examples:
  $ svc audit runs.jsonl --from 2026-01-01 --to 2026-02-01
  $ svc audit replica-1.jsonl replica-2.jsonl replica-3.jsonl
  $ svc audit runs.jsonl --csv > january.csv
  $ svc audit runs.jsonl --daily > by-day.csv
  $ svc audit http://localhost:4021`,
}).does(async (sources, flags) => {
  const books = await booksOf(sources, flags)
  const eachPayment = flags.csv && !flags.daily
  if (eachPayment) print(PAYMENT_COLUMNS)
  const report = await books.audit({
    onBooked: eachPayment ? run => print(paymentRow(run)) : undefined,
    onUnmarked: (file, { message }) =>
      note(
        `svc audit: ${file}.audited could not be written (${message}): the server will not know of this audit`,
      ),
  })
  if (flags.daily) {
    const sold = report.days.filter(({ charged }) => charged > 0)
    print([DAY_COLUMNS, ...sold.map(day => dayRow(day, report.header))].join('\n'))
  }
  if (flags.json) print(json(asJson(report), 'indented'))
  else if (flags.csv || flags.daily) note(described(report).join('\n'))
  else print(described(report).join('\n'))
  const { differences, more, lost, unreadable, missing } = report
  const holes = [
    ...(missing?.isInPeriod ? [`nothing before ${moment(missing.beforeMs)} is there`] : []),
    ...(lost > 0 ? [`${counted(lost, 'call')} lost`] : []),
    ...(unreadable > 0 ? [`${counted(unreadable, 'line')} unreadable`] : []),
  ]
  if (differences.length > 0 || more) {
    const found = `${differences.length}${more ? ' or more' : ''} ${differences.length === 1 && !more ? 'difference' : 'differences'}`
    throw new SvcError([found, ...holes].join(', '), 'differences_found')
  }
  if (holes.length > 0) throw new SvcError(holes.join(', '), 'journal_incomplete')
})

function moment(ms: number): string {
  return new Date(ms).toISOString()
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function described(report: ReconciliationReport): string[] {
  const { header, period, runs, counted: others, paths, days, balances } = report
  const { differences, more, missing, lost, unreadable, decidedByMs } = report
  const charged = days.reduce((sum, day) => sum + day.charged, 0)
  const taken = days.reduce((sum, day) => sum + day.takenBaseUnits, 0n)
  const complete = lost === 0 && unreadable === 0
  const worst = differences.filter(({ finding }) => finding === 'told_not_charged')
  const rest = differences.filter(({ finding }) => finding !== 'told_not_charged')
  return [
    ...worst.flatMap(describedDifference),
    ...columns([
      ['agent', `${header.agent} (${header.network})`],
      ['pay to', header.payTo],
      ['period', `${moment(period.fromMs)} to ${moment(period.toMs)}`],
      [
        'before',
        missing &&
          `${counted(missing.lines, 'line')} that are not there: the server deletes the oldest (maxBytes)`,
      ],
      ['runs', `${runs}, on ${paths} distinct paths`],
      ['counted', others > 0 ? `${counted(others, 'call')} that charged nothing` : undefined],
      ['charged', `${charged}, ${formatUsd(taken)}`],
      ['lost', lost > 0 ? `${counted(lost, 'call')} that the journal could not keep` : undefined],
      [
        'unreadable',
        unreadable > 0 ? `${counted(unreadable, 'line')}, such as a killed process leaves` : undefined,
      ],
    ]),
    '',
    ...columns(
      days.map(({ day, endpoint, calls, charged, inDoubt, takenBaseUnits }) => [
        `${day}  ${printable(endpoint)}`,
        `${calls} calls, ${charged} charged, ${formatUsd(takenBaseUnits)}${inDoubt > 0 ? `, ${inDoubt} in doubt` : ''}`,
      ]),
    ),
    '',
    ...describedBalances(balances),
    ...rest.flatMap(describedDifference),
    ...(differences.length === 0 ? [nothingDiffers(complete, decidedByMs)] : []),
    ...(more ? ['There are more than are listed here: mend these, and audit again.'] : []),
  ]
}

function describedBalances(balances: ReconciliationReport['balances']): string[] {
  if (balances.length === 0) return []
  const sums = Object.entries(sumsOfBalances(balances)).map(
    ([what, sum]) => `${formatUsd(sum)} ${what === 'inDoubt' ? 'in doubt' : what}`,
  )
  const each = balances.map(
    ({ balance, soldBaseUnits, usedBaseUnits, unspentBaseUnits, endsMs }) =>
      [
        `  ${printable(balance.slice(0, 12))}`,
        `${formatUsd(soldBaseUnits)} sold, ${formatUsd(usedBaseUnits)} used, ${formatUsd(unspentBaseUnits)} unspent${endsMs === undefined ? '' : `, until ${moment(endsMs)}`}`,
      ] as const,
  )
  return [`balances: ${sums.join(', ')}`, ...columns(each.slice(0, BALANCES_SHOWN)), '']
}

/** All of them are in --json. */
const BALANCES_SHOWN = 20

function nothingDiffers(isComplete: boolean, decidedByMs: number | undefined): string {
  const nothing = isComplete ? 'Nothing differs' : 'Nothing differs in what can be read'
  if (decidedByMs === undefined) return `${nothing}.`
  return `${nothing} so far: payments in doubt may still land. Audit again after ${moment(decidedByMs)}.`
}

function describedDifference({ finding, says, txId, run, endpoint, atMs }: Difference): string[] {
  const where = [endpoint && `endpoint ${endpoint}`, run && `run ${run}`, txId && `transaction ${txId}`]
  return [
    `${finding}: ${printable(says)}`,
    `  ${[new Date(atMs).toISOString(), ...where.filter(Boolean)].map(printable).join(', ')}`,
    `  ${FINDINGS[finding]}`,
    '',
  ]
}

function asJson({ header, days, differences, ...report }: ReconciliationReport) {
  return {
    books: header,
    ...report,
    days,
    differences: differences.map(difference => ({ ...difference, do: FINDINGS[difference.finding] })),
  }
}
