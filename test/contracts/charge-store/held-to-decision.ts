/** Holds the scripts to the decision: the same random histories on a real Redis and on the model of one, which decides by it. */
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { expect } from 'vitest'
import { type RedisModel, redisModel } from '../../../proof/simulation/stores/redis-model.js'
import {
  claimKey,
  keptKey,
  payerPlace,
  paymentKey,
  reservedKey,
  unitsKey,
} from '../../../src/adapters/redis/key-names.js'
import { findUnits } from '../../../src/domain/charge-store/balance-units.js'
import { type Claim, isCompleted, type Payment } from '../../../src/domain/charge-store/records.js'
import type { Opened, UnitsTaken } from '../../../src/ports/charge-store.js'
import { fieldsOf } from '../../support/redis-fields.js'
import type { VirtualRedis } from '../../support/redis-virtual.js'
import { advanceMs, answerTo, type History, histories, NAMES, PAYMENTS, SLOT, sideOf } from './histories.js'

/** How far the lives of keys may differ, besides the real time that a history takes: it goes on for them. */
const LIVES_DIFFER_MS = 1_000

/** Histories that are replayed at once, each in a world of its own. Ten at once find what is planted for as much CPU: 13 s, not 14. */
const AT_ONCE = 50

/** @throws Error at the first histories whose answers or records differ. Returns every answer that was seen. */
export async function heldToDecision(
  redis: VirtualRedis,
  runs: number,
  kind: fc.Arbitrary<History> = histories,
  seed?: number,
): Promise<ReadonlySet<string>> {
  const seen = new Set<string>()
  const several = fc.array(kind, { minLength: AT_ONCE, maxLength: AT_ONCE })
  const property = fc.asyncProperty(several, async several => {
    await redis.reset()
    // All of them end: what goes on after a failure would meet the keys of what comes next.
    const ended = await Promise.allSettled(
      several.map(history => replay(redis, history).catch(told(history))),
    )
    for (const each of ended) {
      if (each.status === 'rejected') throw each.reason
      for (const answer of each.value) seen.add(answer)
    }
  })
  const numRuns = Math.ceil(runs / AT_ONCE)
  // To look for a shorter history would take longer than to read this one.
  await fc.assert(property, { numRuns, endOnFailure: true, verbose: 0, ...(seed !== undefined && { seed }) })
  return seen
}

const told = (history: History) => (cause: unknown) => {
  throw new Error(`${cause}, in ${fc.stringify(history)}`)
}

async function replay(redis: VirtualRedis, { holds, moves }: History): Promise<string[]> {
  const { connection, prefix, time, advance } = await redis.world()
  const begunMs = performance.now()
  let nowMs = Number(await time.now())
  const model = redisModel({ nowMs: () => nowMs })
  const decided = sideOf(model, () => nowMs, prefix)
  const scripted = sideOf(connection, () => nowMs, prefix)
  const answers: string[] = []
  for (const step of moves) {
    if (step.kind === 'advance') {
      nowMs += advanceMs(step)
      await advance(advanceMs(step))
      continue
    }
    const hold = holds['who' in step ? step.who : 0]!
    const answer = await answerTo(scripted, hold, step)
    expect(await answerTo(decided, hold, step)).toEqual(answer)
    answers.push(shortOf(answer))
  }
  await expectTheSame(redis, prefix, model, nowMs, () => LIVES_DIFFER_MS + performance.now() - begunMs)
  return answers
}

function shortOf({ answer, rejected }: Awaited<ReturnType<typeof answerTo>>): string {
  if (rejected !== undefined) return rejected
  const { verdict, units } = (answer ?? {}) as { verdict?: Opened['verdict']; units?: UnitsTaken }
  if (units) return units.verdict
  return String(verdict ?? answer)
}

interface Stored {
  readonly fields: Readonly<Record<string, string>>
  readonly leftMs: number
}

async function expectTheSame(
  { client }: VirtualRedis,
  prefix: string,
  { records }: RedisModel,
  nowMs: number,
  differMs: () => number,
): Promise<void> {
  const place = payerPlace(prefix, SLOT)
  const decided = new Map<string, Stored>()
  const add = (key: string, record: Claim | Payment | undefined, fields: () => Stored['fields']) => {
    if (record && nowMs < record.expiresAtMs)
      decided.set(key, { fields: fields(), leftMs: record.expiresAtMs - nowMs })
  }
  for (const name of NAMES) {
    const claim = records.claim(place, name)
    add(claimKey(place, name)!, claim, () => fieldsOfClaim(claim!))
  }
  for (const txId of PAYMENTS) {
    const payment = records.payment(txId)
    add(paymentKey(place, txId)!, payment, () => fieldsOfPayment(payment!))
  }
  await expectTheSameUnits(client, place, records, nowMs, differMs)
  // The order of what is kept is no record.
  const apart = [keptKey(place), unitsKey(place), reservedKey(place)]
  const keys = (await client.keys(`${prefix}*`)).filter(key => !apart.includes(key))
  expect(keys.sort()).toEqual([...decided.keys()].sort())
  for (const [key, { fields, leftMs }] of decided) {
    const stored = Object.entries(await fieldsOf(client, key))
    const texts = stored.map(([name, value]) => [name, value.toString('latin1')])
    expect(Object.fromEntries(texts), key).toEqual(fields)
    expect(Math.abs(leftMs - (await client.pttl(key))), `life of ${key}`).toBeLessThan(differMs())
  }
}

/** What a script has not yet found lapsed or ended is taken as it is now. */
async function expectTheSameUnits(
  client: Redis,
  place: string,
  records: RedisModel['records'],
  nowMs: number,
  differMs: () => number,
): Promise<void> {
  const decided = findUnits(records, { slot: place, hasUnits: true }, nowMs)
  const stored = await client.hgetall(unitsKey(place))
  const members = await client.zrange(reservedKey(place), '0', '-1', 'WITHSCORES')
  let [sum, live] = [0, 0]
  for (let at = 0; at < members.length; at += 2) {
    const units = Number(members[at]!.split(' ')[0])
    sum += units
    if (Number(members[at + 1]) > nowMs) live += units
  }
  if (!decided) expect(stored).toEqual({})
  else {
    const { state, unused, endsAtMs } = decided
    const fields = { unused: `${unused}`, reserved: `${sum}`, endsAtMs: `${endsAtMs}` }
    expect(stored, 'units').toEqual({ ...fields, state: state === 'ended' ? stored.state : state })
  }
  expect(live, 'reserved').toBe(records.reserved(place, nowMs))
  if (!decided) return
  const leftMs = await client.pttl(unitsKey(place))
  expect(Math.abs(leftMs - (decided.expiresAtMs - nowMs)), 'life of units').toBeLessThan(differMs())
  if (sum > 0) expect(await client.pttl(reservedKey(place))).toBeGreaterThan(leftMs - differMs())
}

function fieldsOfPayment({ state, token, leaseEndsMs }: Payment): Stored['fields'] {
  return { state, token, leaseEndsMs: String(leaseEndsMs) }
}

/** As the scripts store a claim: a completed one has no lease, no rounds, and its caller only where another call completed it. */
function fieldsOfClaim(claim: Claim): Stored['fields'] {
  const { state, token, bodyHash, caller, leaseEndsMs, kept, reserved } = claim
  const { answer, payment, by } = kept ?? {}
  const always = {
    ...{ state, token, bodyHash },
    ...(answer && { answer: Buffer.from(answer).toString('latin1') }),
    ...(payment && { txId: payment.txId }),
  }
  if (isCompleted(claim)) {
    if (by === token) return { ...always, recordedBy: token }
    return { ...always, ...(by !== undefined && caller !== undefined && { caller }) }
  }
  const rounds = payment && { firstValid: String(payment.firstValid), lastValid: String(payment.lastValid) }
  return {
    ...{ ...always, ...rounds, leaseEndsMs: String(leaseEndsMs) },
    ...(caller !== undefined && { caller }),
    ...(by !== undefined && { recordedBy: by }),
    ...(reserved !== undefined && { reserved: String(reserved) }),
  }
}
