/** All runs of the page, and the runs that pass the filters. */
import { isQuote, keptOf } from '../kept-runs.js'
import type { Hello, RunView } from '../page-events.js'
import { clock } from './page-clock.js'

export interface Filter {
  readonly endpoint: string
  readonly final: string
  readonly charged: string
  /** Only calls that began in this time before now; 0 for all. */
  readonly periodMs: number
  readonly quotes: boolean
}

export class Runs {
  #all: RunView[] = []
  #filter: Filter = { endpoint: '', final: '', charged: '', periodMs: 0, quotes: false }
  #capacity = 10_000
  /** Oldest first. */
  shown: RunView[] = []
  quotesHidden = 0

  begin({ capacity }: Hello): void {
    this.#capacity = capacity
    this.#all = []
    this.#choose()
  }

  /** Returns how many of the runs pass the filters. */
  add(runs: readonly RunView[]): number {
    const before = this.shown.length
    this.#all.push(...runs)
    this.#show(runs)
    const added = this.shown.length - before
    const kept = keptOf(this.#all, this.#capacity)
    if (kept !== this.#all) {
      this.#all = kept
      this.#choose()
    }
    return added
  }

  filter(filter: Filter): void {
    this.#filter = filter
    this.#choose()
  }

  get known(): number {
    return this.#all.length
  }

  #choose(): void {
    this.shown = []
    this.quotesHidden = 0
    this.#show(this.#all)
  }

  #show(runs: readonly RunView[]): void {
    const { endpoint, final, charged, periodMs, quotes } = this.#filter
    const sinceMs = periodMs === 0 ? Number.NEGATIVE_INFINITY : clock.now() - periodMs
    for (const run of runs) {
      const passes =
        (endpoint === '' || run.endpoint === endpoint) &&
        (final === '' || run.final === final) &&
        (charged === '' || run.charged === charged) &&
        run.startedMs >= sinceMs
      if (!passes) continue
      // Somebody who asks for one outcome gets it, quotes too.
      if (isQuote(run) && !quotes && final === '') this.quotesHidden++
      else this.shown.push(run)
    }
  }
}
