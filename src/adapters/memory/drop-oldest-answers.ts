/**
 * One process. The budgets of kept answers: a number of bytes for each owner, and a number of answers in all. Where one is used up,
 * the bytes of an owner's oldest answer are dropped: of the owner whose budget it is, else of the owner that has the most answers.
 * Names without an answer are bounded as well.
 */
import { LRUCache } from 'lru-cache'
import type { Claim } from '../../domain/charge-store/records.js'
import { KEPT_BYTES_MAX, KEPT_RECORD_BYTES } from '../../domain/machines/claim-and-payment.rules.js'

/** Names without an answer are small: so many of them are kept for each answer that may be kept. */
const NAMES_FOR_ONE = 100

interface Owned {
  readonly answers: Fifo
  bytes: number
}

/** Answers make room for answers of their own kind only, and names for such names. */
interface Kind {
  readonly owners: Map<string, Owned>
  /** Names whose answers were dropped. */
  readonly names: Fifo
  answers: number
}

export class KeptAnswers {
  readonly #kinds = { covered: newKind(), payment: newKind(), key: newKind() }

  /** @param max The most answers of each kind. */
  constructor(private readonly max: number) {}

  /** Keeps a completed claim's answer. Returns a claim that has to go, because there are too many names without an answer. */
  add(claim: Claim): Claim | undefined {
    const kind = this.#kindOf(claim)
    if (claim.kept?.answer) this.#addAnswer(kind, claim)
    else kind.names.set(claim, true)
    return kind.names.size > this.max * NAMES_FOR_ONE ? oldestOf(kind.names) : undefined
  }

  #addAnswer(kind: Kind, claim: Claim): void {
    const owned = kind.owners.get(claim.slot) ?? { answers: newFifo(), bytes: 0 }
    kind.owners.set(claim.slot, owned)
    owned.answers.set(claim, true)
    owned.bytes += bytesOf(claim)
    kind.answers++
    while (owned.bytes - bytesOf(oldestOf(owned.answers)) >= KEPT_BYTES_MAX)
      this.#drop(oldestOf(owned.answers))
    if (kind.answers > this.max) this.#drop(oldestOf(largest(kind.owners).answers))
  }

  remove(claim: Claim): void {
    if (claim.kept === undefined) return
    const kind = this.#kindOf(claim)
    if (kind.names.delete(claim)) return
    const owned = kind.owners.get(claim.slot)
    if (!owned?.answers.delete(claim)) return
    kind.answers--
    owned.bytes -= bytesOf(claim)
    if (owned.answers.size === 0) kind.owners.delete(claim.slot)
  }

  /** The name stays, so that its key is not charged again. What is kept belongs to this store alone: it is changed in place. */
  #drop(claim: Claim): void {
    this.remove(claim)
    const kept: { answer: Uint8Array | undefined } = claim.kept!
    kept.answer = undefined
    this.#kindOf(claim).names.set(claim, true)
  }

  /** An answer that a window covered must not push out one that was paid for by itself, nor one without a key one with a key. */
  #kindOf({ kept, isOfPayment }: Claim): Kind {
    if (kept!.by === undefined) return this.#kinds.covered
    return isOfPayment ? this.#kinds.payment : this.#kinds.key
  }
}

function newKind(): Kind {
  return { owners: new Map(), names: newFifo(), answers: 0 }
}

function bytesOf({ kept }: Claim): number {
  return kept!.answer!.byteLength + KEPT_RECORD_BYTES
}

/** A walk over all owners: with 500 answers it takes some microseconds, and only while as many are kept. */
function largest(owners: ReadonlyMap<string, Owned>): Owned {
  let found: Owned | undefined
  for (const owned of owners.values()) if (!found || owned.answers.size > found.answers.size) found = owned
  return found!
}

/** To add, to remove any and to find the oldest cost O(1). (A Map walks over what was deleted first: 86 µs at 100,000.) */
type Fifo = LRUCache<Claim, true>

/** A bound of sizes, which takes no memory in advance. `KeptAnswers` has the bounds that count. */
function newFifo(): Fifo {
  return new LRUCache({ maxSize: Number.MAX_SAFE_INTEGER, sizeCalculation: () => 1 })
}

function oldestOf(fifo: Fifo): Claim {
  return fifo.rkeys().next().value!
}
