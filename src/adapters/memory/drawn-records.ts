/**
 * One process. Records that live a drawn life: every change of state is an event that the drawing lists.
 *
 * A record in its machine's initial state is no record: it is kept from the move that leaves that state to the one that
 * returns to it. What time does to a record (its lease lapses, it is collected) happens when somebody looks.
 */
import { LRUCache } from 'lru-cache'
import { type Drawing, next, type StateOf, type Table } from '../../domain/table.js'
import { Expiry } from './expiry.js'

export interface DrawnRecord<State extends string> {
  readonly key: string
  state: State
  /** Whose it is. */
  token: string
  leaseEndsMs: number
  expiresAtMs: number
}

/** What the drawings call the end of a record that nobody needs any more. */
const COLLECTED_AS = ['collected', 'expired', 'dead']

export interface DrawnRecordsOptions<R> {
  /** Of each kind, the records that the drawing lets go for room, at most. */
  readonly evictableMax?: number
  /** Records of one kind make way for their own kind alone. */
  readonly kindOf?: (record: R) => unknown
}

export class DrawnRecords<D extends Drawing, R extends DrawnRecord<StateOf<D>>> {
  readonly #table: Table<D>
  readonly #kept = new Map<string, R>()
  readonly #expiry = new Expiry<R>()
  /**
   * The records that the drawing lets go for room, oldest first: none is looked up in it, so none becomes younger. A Map's
   * first key costs its holes: 86 µs an eviction at 100,000.
   */
  readonly #evictable = new Map<unknown, LRUCache<string, R>>()
  readonly #evictableMax: number
  readonly #kindOf: (record: R) => unknown
  #unrecorded = 0

  constructor(table: Table<D>, { evictableMax = 1, kindOf = () => undefined }: DrawnRecordsOptions<R> = {}) {
    this.#table = table
    this.#evictableMax = evictableMax
    this.#kindOf = kindOf
  }

  /** Records of calls at work, which have recorded nothing yet. */
  get unrecorded(): number {
    return this.#unrecorded
  }

  find(key: string | undefined, nowMs: number): R | undefined {
    if (key === undefined) return undefined
    const record = this.#kept.get(key)
    if (record) this.#age(record, nowMs)
    return this.#kept.get(key)
  }

  lists(record: R, event: string): boolean {
    return this.#table.rows[record.state].on[event] !== undefined
  }

  /** @throws Error where the record's state does not list the event. */
  move(record: R, event: string): void {
    const target = next(this.#table, record.state, event)
    if (this.lists(record, 'recorded')) this.#unrecorded--
    record.state = target
    if (this.lists(record, 'recorded')) this.#unrecorded++
    for (const kept of this.#evictable.values()) kept.delete(record.key)
    if (!this.#exists(record)) {
      this.#kept.delete(record.key)
      this.#expiry.drop(record)
      return
    }
    this.#kept.set(record.key, record)
    if (!this.lists(record, 'evicted')) return
    const kind = this.#kindOf(record)
    const kept = this.#evictable.get(kind) ?? new LRUCache<string, R>({ max: this.#evictableMax })
    this.#evictable.set(kind, kept)
    if (kept.size === this.#evictableMax) this.move(kept.pop()!, 'evicted')
    kept.set(record.key, record)
  }

  /** Moves along the first of these events that the state lists; stays where it lists none. */
  moveAlong(record: R, events: readonly string[]): boolean {
    const event = events.find(candidate => this.lists(record, candidate))
    if (event !== undefined) this.move(record, event)
    return event !== undefined
  }

  expireAt(record: R, ms: number): void {
    this.#expiry.drop(record)
    record.expiresAtMs = ms
    if (this.#exists(record)) this.#expiry.file(record)
  }

  collect(nowMs: number): void {
    this.#expiry.collect(nowMs, record => this.#age(record, nowMs))
  }

  #exists(record: R): boolean {
    return this.#table.initial !== record.state
  }

  #age(record: R, nowMs: number): void {
    if (nowMs >= record.leaseEndsMs) this.moveAlong(record, ['lapsed'])
    if (nowMs >= record.expiresAtMs) this.moveAlong(record, COLLECTED_AS)
  }
}
