/**
 * Compares two large sets of payments without keeping either. Each payment belongs to one of 65,536 buckets by its
 * transaction id, and a bucket has a count and a sum for each side. Where both sides of a bucket are equal, their payments are
 * the same. The payments of the other buckets are compared one by one afterwards.
 *
 * Each audit has a salt of its own: a payer who knew the sums could hide one payment behind another.
 */
import { hash } from 'node:crypto'
import type { EndedCall } from '../../ports/call-observer.js'
import { systemRandom } from '../../ports/random.js'
import type { Transfer } from './incoming-transfers.js'

/** The payer is empty where a run names none, as on audit pages. Then its bucket differs, and the run is compared by itself. */
export interface Payment extends Pick<Transfer, 'txId' | 'amount' | 'asset' | 'payer'> {
  /** Days since the epoch, UTC. A payment that lands after midnight differs from its run, and is compared by itself. */
  readonly day: number
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

export type Fingerprints = ReturnType<typeof fingerprints>

export function fingerprints() {
  const digest = saltedDigest()
  const sides = { runs: emptySide(), chain: emptySide() }
  const bucketOf = (txId: string) => Number.parseInt(digest(txId).slice(0, 4), 16)
  return {
    add(side: keyof typeof sides, { txId, amount, asset, payer, day }: Payment): void {
      const { counts, sumsA, sumsB } = sides[side]
      const bucket = bucketOf(txId)
      const whole = digest(`${txId} ${amount} ${asset} ${payer} ${day}`)
      counts[bucket]!++
      // Typed arrays of 32 bits wrap around.
      sumsA[bucket]! += Number.parseInt(whole.slice(0, 8), 16)
      sumsB[bucket]! += Number.parseInt(whole.slice(8, 16), 16)
    },
    /** The buckets whose sides differ, and whether a payment is in one; `skipped` of them were left out to keep within `paymentsMax`. */
    unequal(paymentsMax: number) {
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
      return { buckets, skipped: buckets - chosen.size, has: (txId: string) => chosen.has(bucketOf(txId)) }
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

/** 64 bits of a digest each: of a hundred million payments, two share them in about one of some thousand audits. */
export function createBooked(): (txId: string) => boolean {
  const digest = saltedDigest()
  let slots = new BigUint64Array(1_024)
  let count = 0

  /** 0 is an empty slot. */
  function put(print: bigint): boolean {
    let slot = Number(print % BigInt(slots.length))
    while (slots[slot] !== 0n && slots[slot] !== print) slot = (slot + 1) % slots.length
    const isNew = slots[slot] === 0n
    slots[slot] = print
    return isNew
  }

  return txId => {
    if (count * 2 >= slots.length) {
      const before = slots
      slots = new BigUint64Array(before.length * 2)
      for (const print of before) if (print !== 0n) put(print)
    }
    const isNew = put(BigInt(`0x${digest(txId).slice(0, 16)}`) || 1n)
    if (isNew) count++
    return isNew
  }
}

function saltedDigest(): (text: string) => string {
  const salt = Buffer.from(systemRandom.bytes(16)).toString('hex')
  return text => hash('sha256', salt + text)
}
