/** The real audit over the journal of all processes, against what has landed. */
import type { Finding } from '../../src/app/audit/differences.js'
import { audit } from '../../src/app/audit/reconcile.js'
import { USDC_ASSET_ID } from '../../src/domain/network.js'
import type { IncomingTransfers, Transfer } from '../../src/ports/incoming-transfers.js'
import { ENDPOINTS } from '../world/seller.js'
import type { World } from '../world/world.js'

/** Told by a process that died before it wrote its line, or asked about and never come back for. */
const WITH_DEATHS: readonly Finding[] = ['unexplained_transaction', 'unbooked_transaction']
const HOUR_MS = 3_600_000

export async function audited(world: World): Promise<void> {
  const { truth, conditions, seller } = world
  if (truth.calls.length === 0) return
  const asset = String(USDC_ASSET_ID.testnet)
  const books = {
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
    books: [{ ...books, openedMs: period.fromMs }],
    runs: truth.calls,
    lost: 0,
    unreadable: 0,
    flaws: [],
  }
  const report = await audit({
    async *journal() {
      yield piece
    },
    transfers: () => transfersOf(world),
    period,
    nowMs: () => period.toMs + HOUR_MS,
  })
  const allowed = new Set<Finding>([
    'settled_in_doubt',
    ...(truth.deaths > 0 ? WITH_DEATHS : []),
    ...(conditions.skewMs > 0 ? (['wrong_time'] as const) : []),
  ])
  for (const { finding, says, txId } of report.differences) {
    if (allowed.has(finding) || (txId && truth.byPayer.has(txId))) continue
    // Earlier calls charged nothing, and the one that did died with its process, before it could say so.
    if (
      finding === 'told_not_charged' &&
      truth.records.some(record => record.txId === txId && !truth.endedMs.has(record.call))
    )
      continue
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
