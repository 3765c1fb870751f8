/** Virtual time: a queue of moments. Nothing waits; the next moment is now. */

export interface Moment {
  readonly atMs: number
  readonly turn: number
  run: (() => void) | undefined
}

/** Lets all promise callbacks that are ready run, and what they make ready: `setImmediate` comes after all of them. */
const settle = () => new Promise<void>(resolve => setImmediate(resolve))

export class Timeline {
  nowMs = 0
  #turns = 0
  readonly #heap: Moment[] = []

  get isEmpty(): boolean {
    return this.#heap.length === 0
  }

  after(ms: number, run: () => void): Moment {
    const moment = { atMs: this.nowMs + Math.max(0, ms), turn: this.#turns++, run }
    this.#push(moment)
    return moment
  }

  /** Runs every moment up to `untilMs`, or until `stops` says so; each begins when all before it has come to rest. */
  async run(untilMs: number, stops: () => boolean = () => false): Promise<void> {
    await settle()
    while (!stops()) {
      const next = this.#heap[0]
      if (next === undefined || next.atMs > untilMs) break
      this.#pop()
      if (next.run === undefined) continue
      this.nowMs = next.atMs
      next.run()
      await settle()
    }
    if (!stops()) this.nowMs = Math.max(this.nowMs, untilMs)
  }

  #before(one: Moment, other: Moment): boolean {
    return one.atMs < other.atMs || (one.atMs === other.atMs && one.turn < other.turn)
  }

  #push(moment: Moment): void {
    const heap = this.#heap
    let at = heap.push(moment) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#before(moment, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = moment
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    if (heap.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && this.#before(heap[child + 1]!, heap[child]!)) child++
      if (!this.#before(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }
}
