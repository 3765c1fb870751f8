/**
 * Replicas as they are deployed, bought from by strangers while whatever can break is broken. Then all is mended, every buyer asks
 * until it has its answer and once more, and the checker compares what was said with the chain.
 */

import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startChild } from '../chaos/processes.js'
import { seeded } from '../chaos/random.js'
import { BUYER_KINDS, type Goods, type Market, newPurchase, type Purchase } from './buyers.js'
import { type Judgement, judge, type Transfer } from './checker.js'
import { askSandbox } from './fetch-from.js'
import { History, type Line } from './history.js'
import { torment } from './nemesis.js'
import { startSentinelRedis } from './redis-cluster.js'
import { startSellers } from './sellers.js'
import { stranger } from './stranger.js'

export interface BlackboxOptions {
  readonly seed: number
  readonly durationMs: number
  readonly buyers?: number
  /** Of the compiled product. @default its `dist` */
  readonly build?: string
  /** How many replicas of Redis confirm a record before money moves. */
  readonly waitReplicas?: number
  /** Nothing breaks. */
  readonly isCalm?: boolean
  /** In place of the sandbox: a private node that says that it is testnet. */
  readonly realNode?: { readonly algodUrl: string; readonly algodToken: string }
  /** How long buyers go on asking when all is mended. @default 150000 */
  readonly mendedWithinMs?: number
}

export interface Run extends Judgement {
  readonly deeds: Readonly<Record<string, number>>
  readonly lines: readonly Line[]
  readonly transfers: readonly Transfer[]
}

const ROUND_MS = 200
/** A payment's whole window and some: whoever has no answer by then never gets one. */
const MENDED_WITHIN_MS = 150_000

/** All at once were 825 in one run: none was answered in time, and no loss could be told from an answer that was late. */
const ASKING_AT_ONCE = 48

/** What buyers want, by how often. */
const WISHES: readonly Goods[] = ['answer', 'answer', 'answer', 'tale', 'pass', 'failure', 'balance']

export async function blackbox(options: BlackboxOptions): Promise<Run> {
  const {
    seed,
    durationMs,
    buyers = 12,
    waitReplicas = 1,
    isCalm = false,
    mendedWithinMs = MENDED_WITHIN_MS,
  } = options
  const build = options.build ?? fileURLToPath(new URL('../../dist', import.meta.url))
  const redis = await startSentinelRedis(isCalm ? 10_000 : 500)
  const { realNode } = options
  const sandbox = realNode
    ? await startChild('../blackbox/real-node.mjs', realNode)
    : await startChild('sandbox.mjs', { roundMs: ROUND_MS })
  const { url: sandboxUrl, payTo } = sandbox.said as { url: string; payTo: string }
  const sellers = await startSellers({ redis, sandboxUrl, payTo, build, waitReplicas, isCalm })
  try {
    const market: Market = {
      url: sellers.url,
      sandboxUrl,
      isRealNode: realNode !== undefined,
      timeoutMs: isCalm ? 60_000 : 6_000,
      history: new History(),
    }
    redis.onSwitch(() => {
      for (const isOver of [false, true])
        market.history.add({ what: 'deed', atMs: Date.now(), name: 'another primary', isOver })
    })
    const purchases: Purchase[] = []
    const endsMs = performance.now() + durationMs
    const [deeds] = await Promise.all([
      isCalm ? {} : torment({ sellers, redis, sandboxUrl, history: market.history }, seed, durationMs),
      ...Array.from({ length: buyers }, (_, at) => buy(market, purchases, seeded(seed + 100 + at), endsMs)),
      pester(market, seeded(seed + 99), endsMs),
    ])
    await sellers.finishDeploys()
    const asking = purchases.values()
    const askOn = async () => {
      for (const purchase of asking) await askTwice(purchase, mendedWithinMs)
    }
    await Promise.all(Array.from({ length: ASKING_AT_ONCE }, askOn))
    const transfers = await incomeOf(sandboxUrl, payTo)
    return { ...judge(market.history.lines, transfers), deeds, lines: market.history.lines, transfers }
  } finally {
    await sellers.close()
    await sandbox.kill()
    await redis.close()
  }
}

/** One wish after the other. What has no answer when time is up is asked for again when all is mended. */
async function buy(
  market: Market,
  purchases: Purchase[],
  random: ReturnType<typeof seeded>,
  endsMs: number,
): Promise<void> {
  while (performance.now() < endsMs) {
    const purchase = await newPurchase(market, random.pick(BUYER_KINDS), random.pick(WISHES))
    purchases.push(purchase)
    while (performance.now() < endsMs && !(await purchase.ask())) await pause(100)
  }
}

async function pester(market: Market, random: ReturnType<typeof seeded>, endsMs: number): Promise<void> {
  const send = stranger(market)
  while (performance.now() < endsMs) {
    await send(() => random.between(0, 1_000_000) / 1_000_000)
    await pause(300)
  }
}

async function askTwice(purchase: Purchase, withinMs: number): Promise<void> {
  const untilMs = performance.now() + withinMs
  for (let answers = 0; answers < 2 && performance.now() < untilMs; ) {
    if (await purchase.ask()) answers++
    else await pause(500)
  }
}

/** The seller's transfers, as an indexer lists them. */
async function incomeOf(sandboxUrl: string, payTo: string): Promise<Transfer[]> {
  const transfers: Transfer[] = []
  for (let next = ''; ; ) {
    const page = await (
      await askSandbox(`${sandboxUrl}/v2/accounts/${payTo}/transactions?limit=1000${next && `&next=${next}`}`)
    ).json()
    const { transactions, 'next-token': token } = page as {
      transactions: { id: string; 'asset-transfer-transaction'?: { amount: number; receiver: string } }[]
      'next-token'?: string
    }
    for (const { id, 'asset-transfer-transaction': moved } of transactions)
      if (moved?.receiver === payTo && moved.amount > 0)
        transfers.push({ txId: id, amount: String(moved.amount) })
    if (transactions.length === 0 || token === undefined) return transfers
    next = token
  }
}
