import { expect } from 'vitest'
import type { CloseMove, Hold, Opened, ResolveMove } from '../../../src/ports/charge-store.js'
import { text } from '../../../src/testing/charge-store/fixture.js'

/** Two money rules, judged only by what the store was told and what it answered. */
export class Invariants {
  /** Payments that may have been submitted, by whom. */
  readonly #charging = new Map<string, string>()
  readonly #replayed = new Map<string, string>()

  /** One payment is never recorded by two tokens, unless the first gave it back or the chain declared it dead. */
  recorded({ payment, token }: Hold): void {
    if (payment === undefined) return
    expect(this.#charging.get(payment) ?? token).toBe(token)
    this.#charging.set(payment, token)
  }

  closed({ payment, token }: Hold, how: CloseMove['how']): void {
    if (how === 'release' && payment !== undefined && this.#charging.get(payment) === token) {
      this.#charging.delete(payment)
    }
  }

  resolved(txId: string, verdict: ResolveMove['verdict']): void {
    if (verdict === 'dead') this.#charging.delete(txId)
  }

  /** A replayed answer stays the same until the key is opened anew. */
  opened({ claim }: Hold, opened: Opened): void {
    if (!claim) return
    if (opened.verdict === 'opened') this.#replayed.delete(claim.name)
    if (opened.verdict !== 'replayable') return
    expect(text(opened.answer)).toBe(this.#replayed.get(claim.name) ?? text(opened.answer))
    this.#replayed.set(claim.name, text(opened.answer))
  }
}
