/** All runs of the page, and the runs that pass the filters. */
import type { Hello, RunView } from '../page-events.js'

export interface Filter {
  readonly endpoint: string
  readonly final: string
  readonly charged: string
}

export class Runs {
  readonly #all: RunView[] = []
  #filter: Filter = { endpoint: '', final: '', charged: '' }
  #capacity = 10_000
  /** Oldest first. */
  shown: RunView[] = []

  begin({ capacity }: Hello): void {
    this.#capacity = capacity
    this.#all.length = 0
    this.shown = []
  }

  /** Returns how many of the runs pass the filters. */
  add(runs: readonly RunView[]): number {
    this.#all.push(...runs)
    const passed = runs.filter(run => this.#passes(run))
    this.shown.push(...passed)
    // Drop old runs in bulk: each drop moves all ten thousand entries of the array.
    if (this.#all.length > this.#capacity * 1.1) {
      this.#all.splice(0, this.#all.length - this.#capacity)
      this.shown = this.#all.filter(run => this.#passes(run))
    }
    return passed.length
  }

  filter(filter: Filter): void {
    this.#filter = filter
    this.shown = this.#all.filter(run => this.#passes(run))
  }

  get known(): number {
    return this.#all.length
  }

  #passes({ endpoint, final, charged }: RunView): boolean {
    const { endpoint: onlyEndpoint, final: onlyFinal, charged: onlyCharged } = this.#filter
    return (
      (onlyEndpoint === '' || endpoint === onlyEndpoint) &&
      (onlyFinal === '' || final === onlyFinal) &&
      (onlyCharged === '' || charged === onlyCharged)
    )
  }
}
