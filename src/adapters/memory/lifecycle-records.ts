/**
 * One process. Records whose states a machine lists: every change of state is an event of the machine.
 *
 * Leaving the initial state stores the record, and returning to it deletes the record. A lease lapses, and a record expires,
 * when the record is next read.
 */
import { type Drawing, next, type StateOf, type Table } from '../../domain/state-machine/transition-table.js'
import { Expiry } from './expiry-by-second.js'
import type { KeptAnswers } from './kept-answers.js'

export interface LifecycleRecord<State extends string> {
  readonly key: string
  state: State
  /** The token of the call that holds the record. */
  token: string
  leaseEndsMs: number
  expiresAtMs: number
  /** Counted while the record settles. */
  settlingBytes?: number
}

/** The events by which the machines end a record at the end of its time. */
const COLLECTED_AS = ['collected', 'expired', 'dead']

export interface LifecycleRecordsOptions<R> {
  /** Bounds the records that the machine can evict. */
  readonly answers?: KeptAnswers<R>
  /** The memory that a record takes while it settles. */
  readonly settlingBytesOf?: (record: R) => number
}

export class LifecycleRecords<D extends Drawing, R extends LifecycleRecord<StateOf<D>>> {
  readonly #table: Table<D>
  readonly #kept = new Map<string, R>()
  readonly #expiry = new Expiry<R>()
  readonly #answers: KeptAnswers<R> | undefined
  readonly #settlingBytesOf: (record: R) => number
  #unrecorded = 0
  #settlingBytes = 0

  constructor(table: Table<D>, { answers, settlingBytesOf = () => 0 }: LifecycleRecordsOptions<R> = {}) {
    this.#table = table
    this.#answers = answers
    this.#settlingBytesOf = settlingBytesOf
  }

  /** Records of calls that are at work and have recorded nothing yet. */
  get unrecorded(): number {
    return this.#unrecorded
  }

  /** The memory of the records whose outcome only the chain decides. */
  get settlingBytes(): number {
    return this.#settlingBytes
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
    this.#settlingBytes -= record.settlingBytes ?? 0
    record.settlingBytes = this.lists(record, 'found') ? this.#settlingBytesOf(record) : 0
    this.#settlingBytes += record.settlingBytes
    this.#answers?.remove(record)
    if (!this.#exists(record)) {
      this.#kept.delete(record.key)
      this.#expiry.drop(record)
      return
    }
    this.#kept.set(record.key, record)
    if (!this.#answers || !this.lists(record, 'evicted')) return
    for (const old of this.#answers.add(record)) this.move(old, 'evicted')
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
