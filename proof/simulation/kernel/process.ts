/**
 * A process of the simulated world: it has clocks and timers of its own, it may stand still, and it may die. What is told
 * to a process that stands still waits; what is told to a dead one is lost, and so is everything that it waited for.
 */
import type { Clock } from '../../../src/index.js'
import type { Timeline } from './timeline.js'

/** The time of day when every simulation begins. */
export const EPOCH_MS = Date.UTC(2030, 0, 1)

export interface Skew {
  /** How far its time of day is off. */
  readonly nowMs: number
  /** How long ago its monotonic clock began. */
  readonly upMs: number
  /** When its time of day is set, in order, and how far it is off from then on. */
  readonly jumps?: readonly { readonly atMs: number; readonly nowMs: number }[]
}

export class Process {
  readonly name: string
  readonly clock: Clock
  isAlive = true
  /** For how long it has stood still in all. */
  stoodStillMs = 0
  #stillUntilMs = 0
  readonly #timeline: Timeline
  readonly #skew: Skew
  readonly #onDeath = new Set<() => void>()

  constructor(name: string, timeline: Timeline, skew: Skew = { nowMs: 0, upMs: 0 }) {
    this.name = name
    this.#timeline = timeline
    this.#skew = skew
    this.clock = {
      now: () => Math.floor(EPOCH_MS + timeline.nowMs + this.skews.at(-1)!),
      monotonic: () => timeline.nowMs + skew.upMs,
      after: (ms, callback) => {
        const moment = timeline.after(ms, () => this.deliver(callback))
        return () => {
          moment.run = undefined
        }
      },
    }
  }

  /** How far its time of day has been ahead of the simulation's, one after the other. */
  get skews(): readonly number[] {
    const { nowMs, jumps = [] } = this.#skew
    return [nowMs, ...jumps.filter(({ atMs }) => atMs <= this.#timeline.nowMs).map(jump => jump.nowMs)]
  }

  /** Runs what arrives here: at once, when the process moves again, or never. */
  deliver(run: () => void): void {
    if (!this.isAlive) return
    const leftMs = this.#stillUntilMs - this.#timeline.nowMs
    if (leftMs > 0) this.#timeline.after(leftMs, () => this.deliver(run))
    else run()
  }

  standStill(ms: number): void {
    this.stoodStillMs += ms
    this.#stillUntilMs = Math.max(this.#stillUntilMs, this.#timeline.nowMs + ms)
  }

  /** Returns how to stop listening. */
  onDeath(listener: () => void): () => void {
    this.#onDeath.add(listener)
    return () => this.#onDeath.delete(listener)
  }

  die(): void {
    if (!this.isAlive) return
    this.isAlive = false
    for (const listener of this.#onDeath) listener()
    this.#onDeath.clear()
  }
}
