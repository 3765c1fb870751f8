/** Compares what was paid (the ledger), what was answered (the buyers) and what is stored (the claims and payments). */
import { Redis } from 'ioredis'
import type { EndedCall } from '../../src/index.js'
import { type Answer, FUNDS, type Purchase } from './buyers.js'
import type { Blow } from './schedule.js'

const PRICE = 10_000n

interface Evidence {
  readonly seed: number
  readonly blows: readonly Blow[]
  readonly purchases: readonly Purchase[]
  readonly sandboxUrl: string
  readonly payTo: string
  readonly redisUrl: string
}

export interface Audit {
  readonly seed: number
  readonly blows: Readonly<Record<string, number>>
  readonly keys: number
  readonly charges: number
  readonly answers: number
  /** Answers that came from the store: their first copy was lost, or it was asked for again. */
  readonly replays: number
  /** Refusals on the way, by code. */
  readonly refusals: Readonly<Record<string, number>>
  /** How calls ended, as far as the dying still told. */
  readonly finals: Readonly<Record<string, number>>
  /** What became of calls whose predecessor died, or whose settlement was unknown. */
  readonly recoveries: Readonly<Record<string, number>>
  readonly claims: Readonly<Record<string, number>>
  readonly payments: Readonly<Record<string, number>>
  /** What must not be; a sentence each. */
  readonly wrong: readonly string[]
}

export async function audit(evidence: Evidence): Promise<Audit> {
  const { purchases, sandboxUrl, payTo } = evidence
  const spent = await Promise.all(
    purchases.map(async ({ address }) => FUNDS - (await usdcOf(sandboxUrl, address))),
  )
  const { claims, payments, runs } = await stored(evidence.redisUrl)
  const charges = spent.map(amount => Number(amount / PRICE))
  const charged = charges.reduce((sum, count) => sum + count, 0)
  const wrong = purchases.flatMap((purchase, at) => wrongWith(purchase, charges[at]!))
  const received = await usdcOf(sandboxUrl, payTo)
  if (received !== BigInt(charged) * PRICE)
    wrong.push(`the seller has ${received}, the buyers paid ${charged}`)
  if (claims.completed !== charged || Object.keys(claims).length > 1) {
    wrong.push(`${charged} charges, but claims are ${JSON.stringify(claims)}`)
  }
  if (payments.spent !== charged || payments.settling !== undefined) {
    wrong.push(`${charged} charges, but payments are ${JSON.stringify(payments)}`)
  }
  const answers = purchases.flatMap(({ answers }) => answers)
  return {
    seed: evidence.seed,
    blows: counted(
      evidence.blows.map(blow =>
        blow.kind === 'cutFacilitator' ? `${blow.stage} ${blow.fault}` : blow.kind,
      ),
    ),
    keys: purchases.length,
    charges: charged,
    answers: answers.length,
    replays: answers.filter(({ replayed }) => replayed).length,
    refusals: counted(
      purchases.flatMap(({ failures }) => [...failures].flatMap(([code, count]) => Array(count).fill(code))),
    ),
    finals: counted(runs.map(({ final }) => final)),
    recoveries: counted(
      runs.flatMap(({ path }) => path.filter(step => /^re(covering|conciling)/.test(step))),
    ),
    claims,
    payments,
    wrong,
  }
}

function wrongWith({ key, answers }: Purchase, charges: number): string[] {
  const wrong: string[] = []
  if (charges > 1) wrong.push(`key ${key} was charged ${charges} times`)
  if (answers.length > 0 && charges === 0) wrong.push(`key ${key} was answered without a payment`)
  if (answers.length === 0 && charges > 0) wrong.push(`key ${key} was charged, and its answer cannot be had`)
  if (answers.length === 0 && charges === 0) wrong.push(`key ${key} could not be bought at all`)
  if (new Set(answers.map(({ run }: Answer) => run)).size > 1) wrong.push(`key ${key} had different answers`)
  if (answers.length === 1) wrong.push(`key ${key} was answered, and not again when asked again`)
  return wrong
}

async function usdcOf(sandboxUrl: string, address: string): Promise<bigint> {
  const account = await (await fetch(`${sandboxUrl}/sandbox/accounts/${address}`)).json()
  return BigInt((account as { usdc: string | null }).usdc ?? 0)
}

/** States of what is stored, counted. */
async function stored(redisUrl: string) {
  const redis = new Redis(redisUrl)
  const states = async (pattern: string) => {
    const keys = await redis.keys(pattern)
    return counted(await Promise.all(keys.map(stateOf)))
  }
  const stateOf = async (key: string) => {
    // A completed claim is a string.
    if ((await redis.type(key)) === 'string') return 'completed'
    return (await redis.hget(key, 'state')) ?? 'gone'
  }
  const claims = await states('*:claim:*')
  const payments = await states('*:payment:*')
  const runs = (await redis.lrange('svc:runs', 0, -1)).map(run => JSON.parse(run) as EndedCall)
  redis.disconnect()
  return { claims, payments, runs }
}

function counted(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
