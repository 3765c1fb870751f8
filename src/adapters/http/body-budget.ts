/**
 * One bound for the bodies of all requests that are not paid yet, while they arrive and while their calls wait. Without it
 * six hundred sockets that sent a body of 1 MiB each and kept its last byte held 700 MiB.
 *
 * A body that is still arriving makes way for one that arrives now: a sender that is slow waits for itself, and nobody
 * else has to. A body that is complete stays until its call ends or its handler begins.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { HttpError } from './errors.js'

const RETRY_SECONDS = '5'
/** What Node keeps beside the bytes of each piece of a body, measured; a body in pieces of a byte is mostly that. */
const PIECE_BYTES = 200

export class BodyBudget {
  readonly #bytesMax: number
  #bytes = 0
  /** Oldest first. */
  readonly #arriving = new Set<BodyShare>()
  readonly #shares = new WeakMap<object, BodyShare>()

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** A share is closed when the call has ended. */
  open({ headers }: IncomingMessage): BodyShare {
    return new BodyShare(this, headers)
  }

  /** The call with these headers is paid: what it holds is no stranger's any more. */
  paid(headers: object): void {
    this.#shares.get(headers)?.close()
  }

  /** Whether there is room, if need be in place of bodies that began to arrive before this one. */
  take(share: BodyShare, bytes: number): boolean {
    while (this.#bytes + bytes > this.#bytesMax) {
      const [oldest] = this.#arriving
      if (oldest === undefined || oldest === share) return false
      oldest.cut()
    }
    if (share.bytes === 0) {
      this.#arriving.add(share)
      this.#shares.set(share.headers, share)
    }
    this.#bytes += bytes
    return true
  }

  arrived(share: BodyShare): void {
    this.#arriving.delete(share)
  }

  free(share: BodyShare): void {
    this.#arriving.delete(share)
    this.#bytes -= share.bytes
  }
}

/** What one request holds of the budget. */
export class BodyShare {
  bytes = 0
  /** Called where this body must make way. */
  onCut: () => void = () => {}
  readonly #budget: BodyBudget
  readonly headers: IncomingHttpHeaders

  constructor(budget: BodyBudget, headers: IncomingHttpHeaders) {
    this.#budget = budget
    this.headers = headers
  }

  take(pieceBytes: number): boolean {
    const bytes = pieceBytes + PIECE_BYTES
    if (!this.#budget.take(this, bytes)) return false
    this.bytes += bytes
    return true
  }

  arrived(): void {
    this.#budget.arrived(this)
  }

  cut(): void {
    this.close()
    this.onCut()
  }

  close(): void {
    this.#budget.free(this)
    this.bytes = 0
  }
}

export function overloaded(): HttpError {
  return new HttpError(
    503,
    'overloaded',
    'Too many bodies arrive at once. Nothing was charged by this request; send it again in some seconds.',
    ['Retry-After', RETRY_SECONDS],
  )
}
