/**
 * Compares two large sets of payments without keeping either. Each payment belongs to one of 65,536 buckets by its
 * transaction id, and a bucket has a count and a sum for each side. Where both sides of a bucket are equal, their payments are
 * the same. The payments of the other buckets are compared one by one afterwards.
 *
 * Each audit has a salt of its own for the sums: a payer who knew the sums could hide one payment behind another.
 */
import type { EndedCall } from '../../ports/call-observer.js'
import { systemRandom } from '../../ports/random.js'
import type { Transfer } from './incoming-transfers.js'

export type Side = 'runs' | 'chain'

export interface Payment {
  readonly txId: string
  readonly amount: bigint
  readonly asset: string
  /** Empty where a run names no payer, as on audit pages. Then its bucket differs, and the run is compared by itself. */
  readonly payer: string
  /** Days since the epoch, UTC. A payment that lands after midnight differs from its run, and is compared by itself. */
  readonly day: number
}

export interface Fingerprints {
  add(side: Side, payment: Payment): void
  /** The buckets whose sides differ, as many of them as have at most `paymentsMax` payments together. */
  unequal(paymentsMax: number): Unequal
}

export interface Unequal {
  readonly buckets: number
  /** How many of these buckets were left out. */
  readonly skipped: number
  has(txId: string): boolean
}

/** The payment that a charged run reports. Without a transaction id it cannot be found on the chain. */
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
      // Typed arrays of 32 bits wrap around.
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

/** An unsigned hash of 32 bits: the steps of MurmurHash3 over the text's code units, and its final mix. */
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
