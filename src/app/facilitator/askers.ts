import { LRUCache } from 'lru-cache'

const PAYMENTS_MAX = 100_000

/** Which servers have asked to settle which payment. Two servers without a shared store must not both deliver for one. */
export class Askers {
  readonly #byPayment = new LRUCache<string, WeakSet<object>>({ max: PAYMENTS_MAX })

  /** Whether this asker asks for this payment for the first time. */
  note(txId: string, asker: object): boolean {
    const known = this.#byPayment.get(txId) ?? new WeakSet()
    const isFirst = !known.has(asker)
    known.add(asker)
    this.#byPayment.set(txId, known)
    return isFirst
  }
}
