/** One process. Items by the second in which they end: to file, to move and to collect an item costs O(1), without a scan. */

const BUCKET_MS = 1_000

export class Expiry<T extends { readonly expiresAtMs: number }> {
  readonly #buckets = new Map<number, Set<T>>()
  #next = Number.POSITIVE_INFINITY

  file(item: T): void {
    const bucket = bucketOf(item.expiresAtMs)
    const filed = this.#buckets.get(bucket)
    if (filed) filed.add(item)
    else this.#buckets.set(bucket, new Set([item]))
  }

  drop(item: T): void {
    const bucket = bucketOf(item.expiresAtMs)
    const filed = this.#buckets.get(bucket)
    if (filed?.delete(item) && filed.size === 0) this.#buckets.delete(bucket)
  }

  /**
   * Removes the items that ended in an earlier second. That may be a second late, so readers also check `expiresAtMs`.
   * Callers collect before each filing, so that the walk is as short as the time since the last one.
   */
  collect(nowMs: number, collected: (item: T) => void): void {
    const current = bucketOf(nowMs)
    // After the clock was set back, items are filed into buckets that were walked already: walk them again.
    this.#next = Math.min(this.#next, current)
    for (; this.#next < current && this.#buckets.size > 0; this.#next++) {
      const ended = this.#buckets.get(this.#next)
      this.#buckets.delete(this.#next)
      if (ended) for (const item of ended) collected(item)
    }
    this.#next = current
  }
}

function bucketOf(ms: number): number {
  return Math.floor(ms / BUCKET_MS)
}
