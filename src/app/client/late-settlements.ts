/** Sellers hold the signed bytes and can submit them until the last valid round, so only the chain is asked, for any process's payments. */
import type { Algod } from '../../adapters/algorand/algod-and-indexer.js'
import { algorandChain, type ChainOptions } from '../../adapters/algorand/chain-reader.js'
import { checkedNode } from '../../adapters/algorand/watch-node.js'
import { sharedQuestions } from '../../domain/load-once.js'
import type { Chain } from '../../ports/chain.js'
import { type Clock, withTimeout } from '../../ports/clock.js'
import type { OpenSpend, SpendEnd, SpendLedger } from '../../ports/spend-ledger.js'

export type LateSettlements = ReturnType<typeof lateSettlements>

export interface LateSettlementsOptions extends Pick<ChainOptions, 'network' | 'algod' | 'indexer'> {
  readonly ledger: SpendLedger
  readonly clock: Clock
  readonly settled: (txId: string, end: SpendEnd) => void
  /** A call waits at most this long. The remaining payments are looked up when a call needs room again. */
  readonly settlingMaxMs?: number
}

const SETTLING_MAX_MS = 5_000
const PAGE = 64
const LOOKUPS_AT_ONCE = 4
/** Without proof (the node no longer keeps a block, the validity is wide and there is no indexer) the next look-up waits half a minute. */
const POSTPONED_ROUNDS = 10n

export function lateSettlements(options: LateSettlementsOptions) {
  const { settlingMaxMs = SETTLING_MAX_MS, clock } = options
  const settling = sharedQuestions<void>()
  // A node or a ledger that is down proves nothing.
  const settleAll = () => settleDue(options, clock.monotonic() + settlingMaxMs).catch(() => {})
  return {
    /** Settles payments that landed or can no longer land, in bounded time. Never rejects: a payment without proof stays counted. */
    settle(): Promise<void> {
      return withTimeout(clock, settlingMaxMs, settling(settleAll)).catch(() => {})
    },
  }
}

async function settleDue(options: LateSettlementsOptions, endMs: number): Promise<void> {
  const { ledger, network, algod, clock } = options
  // Read before any block: a payment that is absent from all blocks of its validity afterwards can never land.
  const round = await algod.lastRound()
  for (let more = true; more && clock.monotonic() < endMs; ) {
    const page = await ledger.due(network.key, round, PAGE)
    await settlePage(page, round, endMs, options)
    more = page.length === PAGE
  }
}

async function settlePage(
  page: readonly OpenSpend[],
  round: bigint,
  endMs: number,
  { ledger, network, algod, indexer, settled, clock }: LateSettlementsOptions,
): Promise<void> {
  if (page.length === 0) return
  const asked = askedOnce(algod, page)
  const chain = algorandChain({ network, algod: asked, indexer, clock })
  // The round above may be another network's, whose node answered in place of ours. This one says of which network it is.
  const ofOurs = await checkedNode({ network, algod: asked, clock }).lastRound()
  const postponed = (ofOurs < round ? ofOurs : round) + POSTPONED_ROUNDS
  const queue = page.values()
  const worker = async () => {
    for (const spend of queue) {
      if (clock.monotonic() >= endMs) return
      const end = await endOf(spend, chain)
      if (end === undefined) {
        await ledger.postpone(spend.id, postponed)
      } else {
        await ledger.settle(spend.id, end)
        settled(spend.payment.txId, end)
      }
    }
  }
  await Promise.all(Array.from({ length: LOOKUPS_AT_ONCE }, worker))
}

async function endOf({ payment }: OpenSpend, chain: Chain): Promise<SpendEnd | undefined> {
  const landing = await chain.lookup(payment.txId, payment)
  if (landing === 'unknown') return undefined
  return landing === 'found' ? 'spent' : 'dead'
}

/** Validities overlap: for 64 payments of one minute, each block is read once. Of a block only our own ids are kept. */
function askedOnce(algod: Algod, page: readonly OpenSpend[]): Algod {
  const ours = new Set(page.map(({ payment }) => payment.txId))
  const blocks = new Map<bigint, Promise<readonly string[]>>()
  let params: ReturnType<Algod['suggestedParams']> | undefined
  const read = async (of: bigint) => (await algod.blockTxIds(of)).filter(id => ours.has(id))
  return {
    ...algod,
    suggestedParams() {
      params ??= algod.suggestedParams()
      return params
    },
    blockTxIds(of) {
      const known = blocks.get(of) ?? read(of)
      blocks.set(of, known)
      return known
    },
  }
}
