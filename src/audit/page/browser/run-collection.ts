/** All runs of the page, and the runs that pass the filters. */
import { type Decision, type Hello, isQuote, keptOf, type RunView } from '../page-events.js'
import { clock } from './page-clock.js'

export interface Filter {
  readonly endpoint: string
  readonly final: string
  readonly charged: string
  /** Only calls that began in this time before now; 0 for all. */
  readonly periodMs: number
  readonly quotes: boolean
  /** Parts of a transaction, a payer, a balance, a call or a trace; after `-`, of what is left out. */
  readonly search: string
}

export class Runs {
  #all: RunView[] = []
  #aheadMs = 0
  #serverSinceMs = 0
  #filter: Filter = { endpoint: '', final: '', charged: '', periodMs: 0, quotes: false, search: '' }
  #capacity = 10_000
  /** Oldest first. */
  shown: RunView[] = []
  quotesHidden = 0

  begin({ capacity, nowMs, sinceMs }: Hello): void {
    this.#capacity = capacity
    this.#aheadMs = nowMs - clock.now()
    this.#serverSinceMs = sinceMs
    this.#all = []
    this.#choose()
  }

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

  decide(decisions: readonly Decision[]): void {
    const landed = new Map(decisions.map(each => [each.number, each.landed]))
    this.#all = this.#all.map(run => ({ ...run, landed: landed.get(run.number) ?? run.landed }))
    this.#choose()
  }

  filter(filter: Filter): void {
    this.#filter = filter
    this.#choose()
  }

  get known(): number {
    return this.#all.length
  }

  /** Whatever the filters say, oldest first. */
  get all(): readonly RunView[] {
    return this.#all
  }

  /** By the server's clock, as all times of runs are. */
  get nowMs(): number {
    return clock.now() + this.#aheadMs
  }

  /** When the chosen period begins; `undefined` where it is all that is kept. */
  get #periodBeganMs(): number | undefined {
    const { periodMs } = this.#filter
    return periodMs === 0 ? undefined : this.nowMs - periodMs
  }

  /** From when on calls are kept, where that is later than the chosen period begins: sums are of a part of the period. */
  get partSinceMs(): number | undefined {
    const oldest = this.#all[0]
    // The server forgot the calls that ended before the oldest one, or that one is of its journal.
    const sinceMs = oldest && oldest.number !== 0 ? oldest.startedMs + oldest.ms : this.#serverSinceMs
    return sinceMs > (this.#periodBeganMs ?? Number.POSITIVE_INFINITY) ? sinceMs : undefined
  }

  /** The time that the chosen calls are of; `undefined` where their own times say it. */
  get span(): readonly [fromMs: number, untilMs: number] | undefined {
    const beganMs = this.#periodBeganMs
    return beganMs === undefined ? undefined : [this.partSinceMs ?? beganMs, this.nowMs]
  }

  #choose(): void {
    this.shown = []
    this.quotesHidden = 0
    this.#show(this.#all)
  }

  #show(runs: readonly RunView[]): void {
    const { endpoint, final, charged, quotes, search } = this.#filter
    const sought = search
      .toLowerCase()
      .split(/\s+/)
      .filter(word => /[^-]/.test(word))
    const sinceMs = this.#periodBeganMs ?? Number.NEGATIVE_INFINITY
    for (const run of runs) {
      const passes =
        (endpoint === '' || run.endpoint === endpoint) &&
        (final === '' || run.final === final) &&
        (charged === '' || (run.charged === charged && run.landed === undefined)) &&
        run.startedMs >= sinceMs &&
        sought.every(word => isNamed(run, word))
      if (!passes) continue
      // Somebody who asks for one outcome or one call gets it, quotes too.
      if (isQuote(run) && !quotes && final === '' && sought.every(word => word[0] === '-'))
        this.quotesHidden++
      else this.shown.push(run)
    }
  }
}

function isNamed({ txId, payer, window, units, id, traceId }: RunView, word: string): boolean {
  const isOut = word[0] === '-'
  const part = isOut ? word.slice(1) : word
  return (
    [txId, payer, window, units?.balance, id, traceId].some(name => name?.toLowerCase().includes(part)) !==
    isOut
  )
}
