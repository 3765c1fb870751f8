/**
 * A store whose replica may take over before it has the last writes: what was written after some moment is forgotten, as after a failover
 * of Redis; or the store begins empty. The old primary may come back in its place, with what it alone has had. A replica makes the same
 * moves at the same times, so its state is what these make of new stores.
 */
export interface Write {
  readonly atMs: number
  /** Whom it is about: a call, a payment, a window, the slot of a balance. */
  readonly names: readonly string[]
}

interface Made<Stores> extends Write {
  readonly move: (stores: Stores) => unknown
}

export class Replication<Stores> {
  readonly #make: (nowMs: () => number) => Stores
  readonly #nowMs: () => number
  readonly #log: Made<Stores>[] = []
  /** What the replica has, at the least. */
  #confirmed = 0
  /** After how many writes the replica was cut off. */
  #cutOffAt = Number.POSITIVE_INFINITY
  /** What the old primary alone has, and after which writes: until it is a replica of the new one. */
  #parted: { readonly length: number; readonly writes: readonly Made<Stores>[] } | undefined
  /** While writes are made again: when they were made. */
  #againMs: number | undefined
  stores: Stores

  constructor(make: (nowMs: () => number) => Stores, nowMs: () => number) {
    this.#make = make
    this.#nowMs = () => this.#againMs ?? nowMs()
    this.stores = make(this.#nowMs)
  }

  write<Result>(names: readonly string[], move: (stores: Stores) => Result): Result {
    this.#log.push({ atMs: this.#nowMs(), names, move })
    return move(this.stores)
  }

  /** How many writes there are. */
  get length(): number {
    return this.#log.length
  }

  /** The replica has the first `length` writes. */
  confirm(length: number): void {
    this.#confirmed = Math.max(this.#confirmed, length)
  }

  /** The replica has no later write, until it takes over. */
  cutOff(): void {
    this.#cutOffAt = this.#log.length
  }

  /** Whether a replica confirms what is written now. */
  get hasReplica(): boolean {
    return !this.isAlone && this.#cutOffAt === Number.POSITIVE_INFINITY
  }

  /** The replica takes over, with the writes of before this moment and with those that it has confirmed. @returns the others */
  failOver(sinceMs: number): readonly Write[] {
    const first = this.#log.findIndex(({ atMs }) => atMs >= sinceMs)
    const reached = Math.min(this.#cutOffAt, first < 0 ? this.#log.length : first)
    const length = Math.max(this.#confirmed, reached)
    this.#cutOffAt = Number.POSITIVE_INFINITY
    const writes = this.#replaced(length, [])
    this.#parted = { length, writes }
    return writes
  }

  /** Whether the old primary has not become a replica yet. */
  get isAlone(): boolean {
    return this.#parted !== undefined
  }

  /** The old primary becomes a replica. */
  rejoin(): void {
    this.#parted = undefined
  }

  /** The old primary takes over again. @returns what was written meanwhile */
  failBack(): readonly Write[] {
    const { length, writes } = this.#parted!
    this.#parted = undefined
    return this.#replaced(length, writes)
  }

  /** @returns all writes */
  forgetAll(): readonly Write[] {
    this.#confirmed = 0
    return this.#replaced(0, [])
  }

  #replaced(length: number, others: readonly Made<Stores>[]): readonly Made<Stores>[] {
    const lost = this.#log.splice(length, Number.POSITIVE_INFINITY, ...others)
    this.#againMs = this.#log[0]?.atMs
    this.stores = this.#make(this.#nowMs)
    for (const { atMs, move } of this.#log) {
      this.#againMs = atMs
      move(this.stores)
    }
    this.#againMs = undefined
    return lost
  }
}
