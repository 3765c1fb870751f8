/**
 * The calls of one window: those that are left, and those that are reserved, by token. A reservation costs O(1), however
 * many there are: they are walked only when one of them may have lapsed.
 */
export class LeasedCalls {
  #unused: number
  /** The end of each lease. */
  readonly #reserved = new Map<string, number>()
  /** Their process may only be suspended: what it delivers later is counted. */
  readonly #lapsed = new Set<string>()
  /** No lease ends before this moment. */
  #lapsesMs = Number.POSITIVE_INFINITY

  constructor(calls: number) {
    this.#unused = calls
  }

  left(nowMs: number): number {
    this.#freeLapsed(nowMs)
    return Math.max(0, this.#unused - this.#reserved.size)
  }

  /** Whether the token holds a reservation now. */
  take(token: string, nowMs: number, leaseEndsMs: number): boolean {
    if (this.left(nowMs) < 1 || this.#reserved.has(token)) return this.#reserved.has(token)
    this.#lapsed.delete(token)
    this.#reserved.set(token, leaseEndsMs)
    this.#lapsesMs = Math.min(this.#lapsesMs, leaseEndsMs)
    return true
  }

  use(token: string): void {
    if (this.#reserved.delete(token) || this.#lapsed.delete(token)) this.#unused--
  }

  giveBack(token: string): void {
    this.#reserved.delete(token)
    this.#lapsed.delete(token)
  }

  #freeLapsed(nowMs: number): void {
    if (nowMs < this.#lapsesMs) return
    this.#lapsesMs = Number.POSITIVE_INFINITY
    for (const [token, leaseEndsMs] of this.#reserved) {
      if (leaseEndsMs > nowMs) {
        this.#lapsesMs = Math.min(this.#lapsesMs, leaseEndsMs)
        continue
      }
      this.#reserved.delete(token)
      this.#lapsed.add(token)
    }
  }
}
