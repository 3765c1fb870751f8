/** The real audit over the journal of all processes, against what has landed. */
import type { Finding } from '../../../src/audit/reconciliation/findings.js'
import type { IncomingTransfers, Transfer } from '../../../src/audit/reconciliation/incoming-transfers.js'
import { reconcileJournal } from '../../../src/audit/reconciliation/reconcile-journal.js'
import { USDC_ASSET_ID } from '../../../src/domain/network.js'
import { ENDPOINTS } from '../world/agents.js'
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
  const { truth, conditions, seller } = world
  if (truth.calls.length === 0) return
  const asset = String(USDC_ASSET_ID.testnet)
  const header = {
    journal: 1,
    agent: 'simulated',
    network: 'testnet',
    payTo: seller.payTo,
    asset,
    endpoints: ENDPOINTS,
  } as const
  const startedMs = truth.calls.map(call => call.startedMs)
  const span = conditions.skewMs + HOUR_MS
  const period = { fromMs: Math.min(...startedMs) - span, toMs: Math.max(...startedMs) + span }
  const piece = {
    headers: [{ ...header, openedMs: period.fromMs }],
    runs: truth.calls,
    lost: 0,
    unreadable: 0,
    streams: [],
    counts: [],
    flaws: [],
  }
  const report = await reconcileJournal({
    async *journal() {
      yield piece
    },
    transfers: () => transfersOf(world),
    period,
    nowMs: () => period.toMs + HOUR_MS,
  })
  const allowed = new Set<Finding>([
    'settled_in_doubt',
    ...(conditions.skewMs > 0 ? (['wrong_time'] as const) : []),
  ])
  for (const { finding, says, txId } of report.differences) {
    if (allowed.has(finding) || (txId && truth.byPayer.has(txId))) continue
    // The call that charged it died with its process, before it could say so.
    const died = truth.holds.some(hold => hold.txId === txId && !truth.endedMs.has(hold.call))
    if (died && UNTOLD.has(finding)) continue
    // Of two processes whose clocks differ an audit cannot say which word was the last, nor whether a call began before its
    // payment landed.
    const isDoubted = truth.calls.some(call => call.txId === txId && call.charged === 'maybe')
    if (SKEWED.has(finding) && isDoubted && conditions.skewMs > 0) continue
    truth.violated('books-balance', `${finding}: ${says} (${txId})`)
  }
}

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
