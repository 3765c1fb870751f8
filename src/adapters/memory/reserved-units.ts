/**
 * One process. The sums of what the claims of each balance have reserved. A claim costs O(1), however many there are: they are walked
 * only when one of their leases may have ended.
 */
import type { Claim } from '../../domain/charge-store/records.js'

interface Reserved {
  readonly claims: Set<Claim>
  units: number
  /** No lease ends before this moment. */
  lapsesMs: number
}

export class ReservedUnits {
  readonly #slots = new Map<string, Reserved>()

  sum(slot: string, nowMs: number): number {
    const reserved = this.#slots.get(slot)
    if (!reserved) return 0
    if (nowMs >= reserved.lapsesMs) {
      reserved.lapsesMs = Number.POSITIVE_INFINITY
      for (const claim of reserved.claims) {
        if (claim.leaseEndsMs <= nowMs) this.remove(claim)
        else reserved.lapsesMs = Math.min(reserved.lapsesMs, claim.leaseEndsMs)
      }
    }
    return reserved.units
  }

  add(claim: Claim): void {
    if (claim.reserved === undefined) return
    const reserved = this.#slots.get(claim.slot) ?? {
      claims: new Set<Claim>(),
      units: 0,
      lapsesMs: claim.leaseEndsMs,
    }
    this.#slots.set(claim.slot, reserved)
    reserved.claims.add(claim)
    reserved.units += claim.reserved
    reserved.lapsesMs = Math.min(reserved.lapsesMs, claim.leaseEndsMs)
  }

  remove(claim: Claim): void {
    const reserved = this.#slots.get(claim.slot)
    if (!reserved?.claims.delete(claim)) return
    reserved.units -= claim.reserved!
    if (reserved.claims.size === 0) this.#slots.delete(claim.slot)
  }
}
