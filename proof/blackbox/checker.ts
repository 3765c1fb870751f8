/**
 * Judges a run by what buyers sent and got, and by the chain. It imports nothing of the product and knows none of its states: only
 * what the five rules promise to a buyer.
 */
import { type Exchange, exchangesOf, forgettingIn, grouped, runsOf } from './exchanges.js'
import type { Got, Line } from './history.js'
import { isUncountedStream, judgePrepaid } from './prepaid-rules.js'
import { paymentIn } from './proof-of-payer.js'

/** A transfer of the asset to the seller, as the chain shows it. */
export interface Transfer {
  readonly txId: string
  readonly amount: string
}

/** What must not be, each with its name, and what it is called where histories of databases are checked. */
export const ANOMALIES = {
  /** an answer for a payment that never landed */
  'unpaid-delivery': 'dirty read',
  /** two runs of the handler delivered for one payment */
  'double-delivery': 'duplicate',
  /** two payments landed for one wish */
  'double-charge': 'duplicate',
  /** a payment landed, and its answer cannot be had */
  'lost-answer': 'lost write',
  /** a payment landed for work that failed */
  'failure-charged': 'G1a, aborted read',
  /** a payment moved more than was agreed to */
  overcharge: 'incompatible value',
  /** one key, two answers */
  'unequal-replay': 'P2, non-repeatable read',
  /** "not charged" was the last word on a payment that landed */
  'false-no': 'G1a, aborted read',
  /** a receipt for a transfer that is not on the chain */
  'false-receipt': 'lost write',
  /** a stranger was answered */
  'stolen-answer': undefined,
  /** the seller has a transfer that no buyer signed */
  'foreign-income': 'unexpected element',
  /** a balance or a window has less left than its answers took */
  'lost-units': 'phantom write',
  /** a balance has more left than its answers took, or they took more than was sold */
  'free-units': 'P4, lost update',
  /** what was said to be left disagrees with the calls that had ended before */
  'stale-balance': 'stale read',
} as const
export type Anomaly = keyof typeof ANOMALIES

export interface Finding {
  readonly anomaly: Anomaly
  readonly purchase: string
  readonly says: string
}

export interface Judgement {
  readonly findings: readonly Finding[]
  /**
   * How many calls were delivered in windows beyond those that were sold (a failover may forget a count and its answer), and streams on balances that were never counted: the seller's
   * loss, and nobody else's.
   */
  readonly givenAway: number
  /**
   * Streams that were paid for and broke, since their seller died while they left. A stream is charged before its first byte and is not
   * kept unless it was whole, as docs/promises.md says; the seller owes it.
   */
  readonly brokenStreams: number
  readonly counts: Readonly<Record<string, number>>
}

/** Answers that tell a payer that it was not charged: it will pay anew, or give up. */
export const isNo = ({ status, code }: Pick<Got, 'status' | 'code'>) =>
  status === 402 || status === 500 || status === 504 || status === 400 || code === 'too_many_unpaid_calls'

export function judge(lines: readonly Line[], transfers: readonly Transfer[]): Judgement {
  const landed = new Map(transfers.map(transfer => [transfer.txId, transfer]))
  const exchanges = exchangesOf(lines)
  const findings: Finding[] = []
  let givenAway = 0
  let brokenStreams = 0
  const find = (anomaly: Anomaly, purchase: string, says: string) =>
    findings.push({ anomaly, purchase, says })

  const txIds = new Map<string, string>()
  const txIdOf = (payment: string) => {
    if (!txIds.has(payment)) txIds.set(payment, paymentIn(payment).txId)
    return txIds.get(payment)!
  }

  const forgot = forgettingIn(lines)

  for (const [purchase, own] of grouped(exchanges, ({ sent }) => sent.purchase)) {
    if (purchase.startsWith('stranger')) {
      for (const { sent, got } of own)
        if (got?.status === 200) find('stolen-answer', purchase, `${sent.path} answered it ${got.run}`)
      continue
    }
    judgePurchase(purchase, own)
  }
  for (const line of lines) {
    if (line.what !== 'agreed') continue
    const { txId, amount } = paymentIn(line.payment)
    if (landed.has(txId) && BigInt(landed.get(txId)!.amount) > BigInt(line.amount))
      find('overcharge', line.purchase, `agreed to ${line.amount}, signed ${amount}`)
  }
  const signed = new Set(exchanges.flatMap(({ sent }) => (sent.payment ? [txIdOf(sent.payment)] : [])))
  for (const { txId } of transfers) if (!signed.has(txId)) find('foreign-income', txId, 'no buyer sent it')

  function judgePurchase(purchase: string, own: readonly Exchange[]): void {
    const paid = grouped(
      own.filter(({ sent }) => sent.payment !== undefined),
      ({ sent }) => txIdOf(sent.payment!),
    )
    const charged = [...paid.keys()].filter(txId => landed.has(txId))
    const isFailure = own.some(({ sent }) => sent.payment !== undefined && sent.body.includes('"fail":true'))
    if (charged.length > 1) find('double-charge', purchase, charged.join(', '))
    if (isFailure && charged.length > 0) find('failure-charged', purchase, charged.join(', '))
    // Of a payment that landed: what came with it, and what came under its receipt, beside another payment.
    const receipted = own.filter(({ got }) => got?.txId !== undefined && charged.includes(got.txId))
    const paidRuns = runsOf([...charged.flatMap(txId => paid.get(txId)!), ...receipted])
    for (const [txId, about] of paid) {
      // Under its key, what became of it is said beside another payment, too.
      const named = own.filter(({ got }) => got?.code === 'answer_not_kept' && got.txId === txId)
      const last = [...about, ...named].sort((one, other) => one.sentAt - other.sentAt).at(-1)!.got
      judgePayment(purchase, txId, about, last, paidRuns, isFailure)
    }
    for (const { got } of own)
      if (got?.status === 200 && got.txId && !landed.has(got.txId)) find('false-receipt', purchase, got.txId)
    // A key belongs to a payer, or to a window: the documents say that the two are not one.
    const keyed = own.filter(({ sent }) => sent.idempotencyKey !== undefined)
    const scopeOf = ({ sent }: Exchange) => `${sent.idempotencyKey} ${sent.window ?? sent.balance ?? ''}`
    for (const same of grouped(keyed, scopeOf).values()) {
      // The head of a stream leaves a balance before its cost is counted: until then another run may take its place.
      const lasting = same.filter(one => !isUncountedStream(one))
      if (runsOf(lasting).size > 1 && !(same[0]!.sent.window && forgot(lasting)))
        find('unequal-replay', purchase, [...runsOf(lasting)].join(', '))
    }
    const loss = judgePrepaid(own, (anomaly, says) => find(anomaly, purchase, says))
    givenAway += loss.givenAway
    brokenStreams += loss.brokenStreams
  }

  function judgePayment(
    purchase: string,
    txId: string,
    about: readonly Exchange[],
    last: Got | undefined,
    paidRuns: ReadonlySet<string>,
    isFailure: boolean,
  ): void {
    const runs = runsOf(about)
    const isCharged = landed.has(txId)
    if (runs.size > 1) find('double-delivery', purchase, `${txId}: ${[...runs].join(', ')}`)
    // Under its key, an answer that was paid for comes again, whatever payment lies beside the key.
    const isBought = [...runs].every(run => paidRuns.has(run))
    if (!isCharged && !isBought) find('unpaid-delivery', purchase, `${txId}: ${[...runs].join(', ')}`)
    if (isCharged && last && isNo(last))
      find('false-no', purchase, `${txId}: ${last.status} ${last.code ?? ''}`)
    if (!isCharged || runs.size > 0 || paidRuns.size > 0 || isFailure) return
    if (last?.code === 'answer_not_kept' && about.every(({ sent }) => sent.path.endsWith('/tale')))
      brokenStreams++
    else
      find(
        'lost-answer',
        purchase,
        `${txId}: the last word was ${last ? `${last.status} ${last.code}` : 'none'}`,
      )
  }

  const got = exchanges.flatMap(exchange => (exchange.got ? [exchange.got] : []))
  const counts = {
    purchases: new Set(exchanges.map(({ sent }) => sent.purchase)).size,
    exchanges: exchanges.length,
    lost: exchanges.length - got.length,
    payments: signed.size,
    charges: transfers.length,
    answers: got.filter(({ status }) => status === 200).length,
    replays: got.filter(({ isReplayed }) => isReplayed).length,
    proofs: exchanges.filter(({ sent, got }) => sent.isProven && got?.status === 200).length,
    'calls in windows': exchanges.filter(({ sent, got }) => sent.window && got?.status === 200).length,
    'calls on balances': exchanges.filter(({ sent, got }) => sent.balance && got?.status === 200).length,
    'strangers refused': exchanges.filter(({ sent, got }) => sent.purchase.startsWith('stranger') && got)
      .length,
    ...countsOf(
      got.filter(({ status }) => status >= 400).map(({ status, code }) => `${status} ${code ?? ''}`.trim()),
    ),
  }
  return { findings, givenAway, brokenStreams, counts }
}

function countsOf(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of [...names].sort()) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
