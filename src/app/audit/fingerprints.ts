/**
 * Whether two heaps of payments are the same, without keeping either: each is thrown into one of 65,536 buckets by its
 * transaction id, and a bucket keeps a number and a sum. A bucket whose sides agree holds the same payments on both; the
 * few that do not are looked into one by one afterwards.
 *
 * The sums are salted for each audit: a payer who could foresee them could hide a payment behind another.
 */

import type { EndedCall } from '../../ports/call-observer.js'
import type { Transfer } from '../../ports/incoming-transfers.js'
import { systemRandom } from '../../ports/random.js'

export type Side = 'runs' | 'chain'

export interface Payment {
  readonly txId: string
  readonly amount: bigint
  readonly asset: string
  /** Empty where a run does not name its payer, as on audit pages: its bucket differs, and the run is looked into. */
  readonly payer: string
  /** Days since the epoch, UTC. A payment that lands after midnight differs from its run, and is looked into. */
  readonly day: number
}

export interface Fingerprints {
  add(side: Side, payment: Payment): void
  /** The buckets on which the sides disagree, as many of them as hold no more than so many payments together. */
  unequal(paymentsMax: number): Unequal
}

export interface Unequal {
  readonly buckets: number
  /** How many of them would have been too many. */
  readonly skipped: number
  has(txId: string): boolean
}

/** What a charged run says was paid. One that can name no transaction has none to be found by. */
export function paymentOf({
  txId = '',
  amount = '0',
  asset = '',
  payer = '',
  startedMs,
}: EndedCall): Payment {
  return { txId, amount: BigInt(amount), asset, payer, day: dayOf(startedMs) }
}

export function landedPaymentOf({ txId, amount, asset, payer, landedMs }: Transfer): Payment {
  return { txId, amount, asset, payer, day: dayOf(landedMs) }
}

const DAY_MS = 86_400_000

function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS)
}

const BUCKETS = 65_536

export function fingerprints(): Fingerprints {
  const salt = Buffer.from(systemRandom.bytes(12))
  const [saltA, saltB, saltC] = [salt.readUInt32LE(0), salt.readUInt32LE(4), salt.readUInt32LE(8)]
  const sides = { runs: emptySide(), chain: emptySide() }
  const bucketOf = (txId: string) => mix(txId, saltA) >>> 16
  return {
    add(side, { txId, amount, asset, payer, day }) {
      const { counts, sumsA, sumsB } = sides[side]
      const [id, rest] = [mix(txId, saltA), mix(`${amount} ${asset} ${payer} ${day}`, saltC)]
      const bucket = id >>> 16
      counts[bucket]!++
      // Typed arrays of 32 bits wrap around by themselves.
      sumsA[bucket]! += finished(id ^ rest)
      sumsB[bucket]! += finished(mix(txId, saltB) + rest)
    },
    unequal(paymentsMax) {
      const { runs, chain } = sides
      const chosen = new Set<number>()
      let buckets = 0
      let payments = 0
      for (let bucket = 0; bucket < BUCKETS; bucket++) {
        const same =
          runs.counts[bucket] === chain.counts[bucket] &&
          runs.sumsA[bucket] === chain.sumsA[bucket] &&
          runs.sumsB[bucket] === chain.sumsB[bucket]
        if (same) continue
        buckets++
        payments += runs.counts[bucket]! + chain.counts[bucket]!
        if (payments <= paymentsMax) chosen.add(bucket)
      }
      return { buckets, skipped: buckets - chosen.size, has: txId => chosen.has(bucketOf(txId)) }
    },
  }
}

function emptySide() {
  return {
    counts: new Uint32Array(BUCKETS),
    sumsA: new Uint32Array(BUCKETS),
    sumsB: new Uint32Array(BUCKETS),
  }
}

/** Unsigned 32 bits: MurmurHash3's steps over the text's code units, and its finish. */
export function mix(text: string, seed: number): number {
  let hash = seed
  for (let at = 0; at < text.length; at++) {
    let k = Math.imul(text.charCodeAt(at), 0xcc9e2d51)
    k = (k << 15) | (k >>> 17)
    hash ^= Math.imul(k, 0x1b873593)
    hash = (hash << 13) | (hash >>> 19)
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0
  }
  return finished(hash ^ text.length)
}

function finished(mixed: number): number {
  let hash = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
