/**
 * Three processes behind a proxy, on one Redis with a replica, sell to clients that never give up, while whatever can be killed is killed
 * and the facilitator is cut at every stage. Then everything is mended, every client asks until it has its answer and once
 * more, and `audit.ts` compares what was paid, what was answered and what is stored.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { RedisPair } from '../../test/support/redis-pair.js'
import { type Audit, audit } from './audit.js'
import { type Market, newPurchase, type Purchase } from './buyers.js'
import { type Blow, schedule } from './schedule.js'
import { AGENTS, openStage, type Stage } from './stage.js'

export interface ChaosOptions {
  readonly seed: number
  /** How long things go wrong; mending and asking again come on top. */
  readonly durationMs: number
  readonly buyers?: number
  readonly redis: RedisPair
}

/** A payment's whole window, a lease and some: whoever has no answer by then will never get one. */
const MENDED_WITHIN_MS = 120_000

export async function chaos({ seed, durationMs, buyers = 24, redis }: ChaosOptions): Promise<Audit> {
  const stage = await openStage(redis)
  try {
    const { market, payTo } = stage
    const blows = schedule(seed, durationMs, AGENTS)
    const purchases: Purchase[] = []
    const buying = Array.from({ length: buyers }, () => buy(market, purchases, durationMs))
    const [landed] = await Promise.all([strikeAll(stage, blows), ...buying])
    await stage.mended()
    // Twice at least, each: what was settled is replayed, however often it is asked for.
    await Promise.all(purchases.map(askUntilAnsweredTwice))
    return await audit({
      seed,
      blows: landed,
      purchases,
      payTo,
      sandboxUrl: market.sandboxUrl,
      redisUrl: redis.url,
    })
  } finally {
    await stage.close()
  }
}

/** On a slow machine some blows find their target still down: those that landed are told. */
async function strikeAll(stage: Stage, blows: readonly Blow[]): Promise<readonly Blow[]> {
  const begunMs = performance.now()
  const landed: Blow[] = []
  for (const blow of blows) {
    await pause(Math.max(0, begunMs + blow.atMs - performance.now()))
    if (stage.strike(blow)) landed.push(blow)
  }
  return landed
}

/** One purchase after the other. What has no answer when time is up is asked for again when all is mended. */
async function buy(market: Market, purchases: Purchase[], durationMs: number): Promise<void> {
  const endsMs = performance.now() + durationMs
  while (performance.now() < endsMs) {
    const purchase = await newPurchase(market)
    purchases.push(purchase)
    while (performance.now() < endsMs && !(await purchase.ask())) await pause(50)
  }
}

async function askUntilAnsweredTwice(purchase: Purchase): Promise<void> {
  const untilMs = performance.now() + MENDED_WITHIN_MS
  while (purchase.answers.length < 2 && performance.now() < untilMs) {
    if (!(await purchase.ask())) await pause(200)
  }
}
