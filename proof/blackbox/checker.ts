/**
 * Judges a run by what buyers sent and got, and by the chain. It imports nothing of the product and knows none of its states: only
 * what the five rules promise to a buyer.
 */
import type { Got, Line, Sent } from './history.js'
import { paymentIn } from './proof-of-payer.js'

/** A transfer of the asset to the seller, as the chain shows it. */
export interface Transfer {
  readonly txId: string
  readonly amount: string
}

/** What must not be, each with its name. */
export type Anomaly =
  | 'unpaid-delivery' // an answer for a payment that never landed
  | 'double-delivery' // two runs of the handler delivered for one payment
  | 'double-charge' // two payments landed for one wish
  | 'lost-answer' // a payment landed, and its answer cannot be had
  | 'failure-charged' // a payment landed for work that failed
  | 'overcharge' // a payment moved more than was agreed to
  | 'unequal-replay' // one key, two answers
  | 'false-no' // "not charged" was the last word on a payment that landed
  | 'false-receipt' // a receipt for a transfer that is not on the chain
  | 'stolen-answer' // a stranger was answered
  | 'foreign-income' // the seller has a transfer that no buyer signed

export interface Finding {
  readonly anomaly: Anomaly
  readonly purchase: string
  readonly says: string
}

export interface Judgement {
  readonly findings: readonly Finding[]
  /** How many calls were delivered in windows beyond those that were sold: the seller's loss, and nobody else's. */
  readonly givenAway: number
  readonly counts: Readonly<Record<string, number>>
}

/** What of an exchange both sides said. */
interface Exchange {
  readonly sent: Sent
  readonly got?: Got
}

/** Answers that tell a payer that it was not charged: it will pay anew, or give up. */
const isNo = ({ status, code }: Got) =>
  status === 402 || status === 500 || status === 504 || status === 400 || code === 'too_many_unpaid_calls'

const CALLS_SOLD = 5

export function judge(lines: readonly Line[], transfers: readonly Transfer[]): Judgement {
  const landed = new Map(transfers.map(transfer => [transfer.txId, transfer]))
  const exchanges = exchangesOf(lines)
  const findings: Finding[] = []
  let givenAway = 0
  const find = (anomaly: Anomaly, purchase: string, says: string) =>
    findings.push({ anomaly, purchase, says })

  const txIds = new Map<string, string>()
  const txIdOf = (payment: string) => {
    if (!txIds.has(payment)) txIds.set(payment, paymentIn(payment).txId)
    return txIds.get(payment)!
  }

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
    const isFailure = own.some(({ sent }) => sent.body.includes('"fail":true'))
    if (charged.length > 1) find('double-charge', purchase, charged.join(', '))
    if (isFailure && charged.length > 0) find('failure-charged', purchase, charged.join(', '))
    // Of a payment that landed: what came with it, and what came under its receipt, beside another payment.
    const receipted = own.filter(({ got }) => got?.txId !== undefined && charged.includes(got.txId))
    const paidRuns = runsOf([...charged.flatMap(txId => paid.get(txId)!), ...receipted])
    for (const [txId, about] of paid) judgePayment(purchase, txId, about, paidRuns, isFailure)
    for (const { got } of own)
      if (got?.status === 200 && got.txId && !landed.has(got.txId)) find('false-receipt', purchase, got.txId)
    // A key belongs to a payer, or to a window: the documents say that the two are not one.
    const keyed = own.filter(({ sent }) => sent.idempotencyKey !== undefined)
    for (const same of grouped(keyed, ({ sent }) => `${sent.idempotencyKey} ${sent.window ?? ''}`).values()) {
      const runs = runsOf(same)
      if (runs.size > 1) find('unequal-replay', purchase, [...runs].join(', '))
    }
    for (const [window, inside] of grouped(own, ({ sent }) => sent.window)) {
      if (window === undefined) continue
      // The call that bought the window is the first of it.
      const runs = runsOf([...inside, ...own.filter(({ got }) => got?.soldWindow === window)])
      givenAway += Math.max(0, runs.size - CALLS_SOLD)
    }
  }

  function judgePayment(
    purchase: string,
    txId: string,
    about: readonly Exchange[],
    paidRuns: ReadonlySet<string>,
    isFailure: boolean,
  ): void {
    const runs = runsOf(about)
    const isCharged = landed.has(txId)
    if (runs.size > 1) find('double-delivery', purchase, `${txId}: ${[...runs].join(', ')}`)
    // Under its key, an answer that was paid for comes again, whatever payment lies beside the key.
    const isBought = [...runs].every(run => paidRuns.has(run))
    if (!isCharged && !isBought) find('unpaid-delivery', purchase, `${txId}: ${[...runs].join(', ')}`)
    const last = about.at(-1)!.got
    if (isCharged && last && isNo(last))
      find('false-no', purchase, `${txId}: ${last.status} ${last.code ?? ''}`)
    if (isCharged && runs.size === 0 && paidRuns.size === 0 && !isFailure)
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
    'strangers refused': exchanges.filter(({ sent, got }) => sent.purchase.startsWith('stranger') && got)
      .length,
    ...countsOf(
      got.filter(({ status }) => status >= 400).map(({ status, code }) => `${status} ${code ?? ''}`.trim()),
    ),
  }
  return { findings, givenAway, counts }
}

function runsOf(exchanges: readonly Exchange[]): ReadonlySet<string> {
  return new Set(exchanges.flatMap(({ got }) => (got?.status === 200 && got.run ? [got.run] : [])))
}

function exchangesOf(lines: readonly Line[]): Exchange[] {
  const got = new Map(lines.flatMap(line => (line.what === 'got' ? [[line.exchange, line]] : [])))
  return lines.flatMap(line =>
    line.what === 'sent' ? [{ sent: line, got: got.get(line.exchange) as Got }] : [],
  )
}

function grouped<T, K>(all: readonly T[], keyOf: (one: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const one of all) {
    const key = keyOf(one)
    const group = groups.get(key)
    if (group) group.push(one)
    else groups.set(key, [one])
  }
  return groups
}

function countsOf(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of [...names].sort()) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
