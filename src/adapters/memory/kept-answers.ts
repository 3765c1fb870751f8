/**
 * One process. The budgets of kept answers: a number of bytes for each owner, and a number of answers in all. Where one is used up,
 * the bytes of an owner's oldest answer are dropped: of the owner whose budget it is, else of the owner that has the most answers.
 * The name stays, so that its key is not charged again.
 */
import { KEPT_BYTES_MAX, KEPT_RECORD_BYTES } from '../../domain/machines/claim-and-payment.rules.js'
import { Fifo } from './fifo.js'

/** Names without an answer are small: so many of them are kept for each answer that may be kept. */
const NAMES_FOR_ONE = 100

export interface KeptAnswersOptions<R> {
  /** The most answers of each kind. */
  readonly max: number
  /** Answers make room for answers of their own kind only. */
  readonly kindOf: (record: R) => string
  readonly ownerOf: (record: R) => string
  readonly bytesOf: (record: R) => number
  /** Drops the answer. `false`: the name is not needed without it, and is to be evicted too. */
  readonly drop: (record: R) => boolean
}

interface Owned<R> {
  readonly answers: Fifo<R>
  bytes: number
}

interface Place {
  readonly kind: string
  readonly owner: string
  readonly bytes: number
}

export class KeptAnswers<R> {
  readonly #options: KeptAnswersOptions<R>
  readonly #kinds = new Map<string, Map<string, Owned<R>>>()
  readonly #places = new Map<R, Place>()
  readonly #counts = new Map<string, number>()
  /** Names whose answers were dropped. */
  readonly #bare = new Fifo<R>()

  constructor(options: KeptAnswersOptions<R>) {
    this.#options = options
  }

  /** Keeps a record's answer; gives back the records whose names have to go. */
  add(record: R): readonly R[] {
    const { kindOf, ownerOf, bytesOf, max } = this.#options
    const place = { kind: kindOf(record), owner: ownerOf(record), bytes: bytesOf(record) + KEPT_RECORD_BYTES }
    const owners = this.#kinds.get(place.kind) ?? new Map<string, Owned<R>>()
    this.#kinds.set(place.kind, owners)
    const owned = owners.get(place.owner) ?? { answers: new Fifo<R>(), bytes: 0 }
    owners.set(place.owner, owned)
    owned.answers.add(record)
    owned.bytes += place.bytes
    this.#places.set(record, place)
    const count = (this.#counts.get(place.kind) ?? 0) + 1
    this.#counts.set(place.kind, count)
    const gone: R[] = []
    for (;;) {
      const oldest = owned.answers.oldest!
      if (owned.bytes - this.#places.get(oldest)!.bytes < KEPT_BYTES_MAX) break
      this.#drop(oldest, gone)
    }
    if (this.#counts.get(place.kind)! > max) this.#drop(largest(owners).answers.oldest!, gone)
    if (this.#bare.size > max * NAMES_FOR_ONE) {
      const oldest = this.#bare.oldest!
      this.#bare.delete(oldest)
      gone.push(oldest)
    }
    return gone
  }

  remove(record: R): void {
    this.#bare.delete(record)
    const place = this.#places.get(record)
    if (!place) return
    this.#places.delete(record)
    const { kind, owner, bytes } = place
    this.#counts.set(kind, this.#counts.get(kind)! - 1)
    const owners = this.#kinds.get(kind)!
    const owned = owners.get(owner)!
    owned.answers.delete(record)
    owned.bytes -= bytes
    if (owned.answers.size === 0) owners.delete(owner)
  }

  #drop(record: R, gone: R[]): void {
    this.remove(record)
    if (this.#options.drop(record)) this.#bare.add(record)
    else gone.push(record)
  }
}

/** A walk over all owners: with 500 answers it takes some microseconds, and only while as many are kept. */
function largest<R>(owners: ReadonlyMap<string, Owned<R>>): Owned<R> {
  let found: Owned<R> | undefined
  for (const owned of owners.values()) if (!found || owned.answers.size > found.answers.size) found = owned
  return found!
}
