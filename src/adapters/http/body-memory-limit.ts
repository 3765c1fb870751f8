/**
 * One limit for the bodies of all unpaid requests, while they arrive and while their calls wait. Without it, six
 * hundred sockets that sent a body of 1 MiB each and kept back its last byte held 700 MiB.
 *
 * Above the limit, a body that is still arriving is dropped for a body that arrives now: a slow sender delays only
 * itself. A complete body stays until its call ends or its handler begins.
 */
/** What Node takes for each chunk of a body besides its bytes, as measured: nearly all of it where chunks have one byte. */
const PIECE_BYTES = 200

export class BodyBudget {
  bytes = 0
  /** Bodies that are arriving, oldest first. */
  readonly arriving = new Set<BodyShare>()

  constructor(readonly bytesMax: number) {}

  /** The route closes the share when the call is paid or has ended. */
  open(): BodyShare {
    return new BodyShare(this)
  }
}

export class BodyShare {
  #bytes = 0
  #onCut: (() => void) | undefined

  constructor(private readonly budget: BodyBudget) {}

  /** Called when this body is dropped for another. */
  onCut(listener: () => void): void {
    this.#onCut = listener
  }

  /** Returns whether there is room, if needed by dropping bodies that began to arrive before this one. */
  take(pieceBytes: number): boolean {
    const bytes = pieceBytes + PIECE_BYTES
    const { arriving, bytesMax } = this.budget
    while (this.budget.bytes + bytes > bytesMax) {
      const [oldest] = arriving
      if (oldest === undefined || oldest === this) return false
      oldest.#cut()
    }
    if (this.#bytes === 0) arriving.add(this)
    this.budget.bytes += bytes
    this.#bytes += bytes
    return true
  }

  arrived(): void {
    this.budget.arriving.delete(this)
  }

  #cut(): void {
    this.close()
    this.#onCut?.()
  }

  close(): void {
    this.arrived()
    this.budget.bytes -= this.#bytes
    this.#bytes = 0
  }
}
