/** What is checked when all trouble is over, every lease has lapsed and every payment has landed or can land no more. */

import { type EndedCall, OUTCOMES } from '../../../src/index.js'
import { reportsCharge } from '../../../src/simulation-parts.js'
import { promisedMode } from '../conditions.js'
import type { Buyer } from '../parties/buyer.js'
import type { Recorded, Truth } from '../world/truth.js'
import type { World } from '../world/world.js'
import { askedAgain } from './asking-again.js'
import { balancesAtRest } from './balances-at-rest.js'
import { audited } from './books.js'
import { nothingWritten } from './ownership.js'
import { capsHold, spending, wordsHold } from './spending.js'

export async function checkedAtTheEnd(world: World, buyers: readonly Buyer[]): Promise<void> {
  const { truth, seller } = world
  if (seller.inFlight !== 0) truth.violated('in-flight-ends', `${seller.inFlight} calls are in flight`)
  toldNotCharged(world)
  keysChargedOnce(world)
  unpaidRuns(world)
  capsHold(world, buyers)
  spending(world, buyers)
  wordsHold(world, buyers)
  world.questions.atTheEnd()
  world.checkNow()
  nothingWritten(world)
  await audited(world)
  if (truth.violations.length === 0) await askedAgain(world)
  if (truth.violations.length === 0) await balancesAtRest(world)
}

/** A call that ended without a charge, in words that say so. `superseded` says nothing, and neither do refusals at the door. */
export function toldNotCharged({ truth, ledger }: Pick<World, 'truth' | 'ledger'>): void {
  for (const call of truth.calls) {
    if (OUTCOMES[call.final].charged !== 'no' || call.code === 'superseded') continue
    const record = truth.records.findLast(({ call: id }) => id === call.id)
    if (!record || !ledger.landed(record.txId) || truth.byPayer.has(record.txId)) continue
    const later = truth.records.some(
      ({ call: id, txId, atMs }) => txId === record.txId && id !== call.id && atMs >= record.atMs,
    )
    if (!later && !isBroughtAgain(truth, call, record))
      truth.violated('told-not-charged', `${call.id} ended ${call.final}, and ${record.txId} landed`)
  }
}

/**
 * Its record was kept: the store's answer to it was lost, or to the release. A later request brought the payment again and took the record
 * over: only then was it settled, and that request was not told "not charged", or died with its process before it was told
 * anything. Not so where the record was made after its call had spoken.
 */
function isBroughtAgain(truth: Truth, { id, path }: EndedCall, { txId, appliedMs = 0 }: Recorded): boolean {
  const isUnheard =
    path.at(-1)?.startsWith('recording.') && !truth.released.has(id) && appliedMs <= truth.endedMs.get(id)!
  // Its release may have been forgotten.
  const isKept = isUnheard || truth.losses.call(id)
  const takers = truth.holds.filter(hold => hold.txId === txId && hold.call !== id && hold.atMs >= appliedMs)
  const first = takers[0]
  if (!isKept || !first) return false
  if (truth.settlesSent.some(sent => sent.txId === txId && sent.atMs < first.atMs)) return false
  return takers.some(({ call }) => {
    const ended = truth.calls.find(each => each.id === call)
    return ended === undefined || OUTCOMES[ended.final].charged !== 'no'
  })
}

function keysChargedOnce({ truth, conditions, ledger }: World): void {
  const mode = promisedMode(conditions)
  if (mode === undefined) return
  const charged = new Map<string, Set<string>>()
  for (const { key, endpoint, payment, body } of truth.askings) {
    if (key === undefined || !payment || !ledger.landed(payment.txId) || truth.byPayer.has(payment.txId))
      continue
    // A payment that was presented under several keys was charged under one of them.
    if (truth.askings.some(other => other.payment?.txId === payment.txId && other.key !== key)) continue
    const name = `${endpoint} ${payment.payer} ${key} ${body}`
    charged.set(name, (charged.get(name) ?? new Set()).add(payment.txId))
  }
  for (const [name, txIds] of charged) {
    if (txIds.size < 2 || [...txIds].some(txId => truth.losses.payment(txId))) continue
    // The specification's row: in release mode an answer that was seen to be lost frees its key.
    const lost = truth.askings.some(({ isLost, payment }) => isLost && payment && txIds.has(payment.txId))
    if (mode === 'release' && lost) continue
    truth.violated('key-charged-once', `${name} was charged ${txIds.size} times: ${[...txIds].join(' ')}`)
  }
}

/** A payer that does nothing for so long has what it began with. */
const CREDIT_IDLE_MS = 600_000

function unpaidRuns({ truth, conditions, ledger }: World): void {
  const { creditStart } = conditions
  if (creditStart === undefined) return
  const calls = new Map(truth.calls.map(call => [call.traceId, call]))
  const unpaid = new Map<string, number>()
  const lastMs = new Map<string, number>()
  for (const { txId, payer, traceId, atMs } of truth.handlerRuns) {
    const final = calls.get(traceId)?.final
    if (txId === undefined || payer === undefined || final === undefined) continue
    const isRecovered = final === 'inDoubt' && ledger.landed(txId)
    if (atMs - (lastMs.get(payer) ?? atMs) >= CREDIT_IDLE_MS) unpaid.delete(payer)
    lastMs.set(payer, atMs)
    if (OUTCOMES[final].credit === 'spent' && !isRecovered) unpaid.set(payer, (unpaid.get(payer) ?? 0) + 1)
  }
  const paid = new Map<string, number>()
  const earned = (payer: string) => paid.set(payer, (paid.get(payer) ?? 0) + 1)
  const reports = truth.calls.filter(reportsCharge)
  for (const { payer } of reports) earned(payer!)
  // A call that charged and died has earned its payer's credit, and reports nothing.
  const reported = new Set(reports.map(({ txId }) => txId))
  const unreported = new Map(
    truth.handlerRuns.flatMap(({ txId, payer }) =>
      txId && payer && !reported.has(txId) && ledger.landed(txId) ? [[txId, payer]] : [],
    ),
  )
  for (const payer of unreported.values()) earned(payer)
  for (const [payer, runs] of unpaid) {
    // A store that has forgotten runs gives their credit once more.
    const credit = (creditStart + (paid.get(payer) ?? 0)) * (1 + truth.losses.count)
    if (runs > credit)
      truth.violated('unpaid-runs-bounded', `${payer} had ${runs} unpaid runs under a credit of ${credit}`)
  }
}
