/**
 * One request by undici's `dispatch`, which needs no stream and no signal: 60 µs where undici's `request` takes 90, while payers
 * wait. It ends within its limit, from the moment in which it was made.
 */
import type { Cancel, Clock } from './clock.js'

export interface ExchangeRules<A> {
  /** The answer, where the status alone decides it. The body is still read, so that the connection can be used again. */
  early?(status: number): A | undefined
  whole(status: number, text: string): A
  failed(cause: Error): A
}

/** Of undici, as far as it is used here. */
interface Controller {
  abort(cause: Error): void
}

/** Undici calls the methods whose names begin with `on`. */
export class DispatchedExchange<A> {
  readonly answered: Promise<A>
  /** The first result counts; later ones are ignored. */
  #answer!: (answer: A) => void
  readonly #rules: ExchangeRules<A>
  readonly #clearLimit: Cancel
  readonly #chunks: Buffer[] = []
  #controller: Controller | undefined
  #cut: Error | undefined
  #early: A | undefined
  #status = 0

  constructor(clock: Pick<Clock, 'after'>, timeoutMs: number, rules: ExchangeRules<A>) {
    this.#rules = rules
    this.answered = new Promise(resolve => {
      this.#answer = resolve
    })
    this.#clearLimit = clock.after(timeoutMs, () => this.cut(`no answer within ${timeoutMs} ms`))
  }

  cut(why: string): void {
    this.#cut = new Error(why)
    this.fail(this.#cut)
    this.#controller?.abort(this.#cut)
  }

  fail(cause: Error): void {
    this.#clearLimit()
    this.#answer(this.#rules.failed(cause))
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    // It was cut while it waited for a connection: a payment must not be sent now.
    if (this.#cut) controller.abort(this.#cut)
  }

  onResponseStart(_: Controller, status: number): void {
    this.#status = status
    this.#early = this.#rules.early?.(status)
    if (this.#early !== undefined) this.#answer(this.#early)
  }

  onResponseData(_: Controller, chunk: Buffer): void {
    if (this.#early === undefined) this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#clearLimit()
    if (this.#early === undefined)
      this.#answer(this.#rules.whole(this.#status, Buffer.concat(this.#chunks).toString('utf8')))
  }

  onResponseError(_: Controller, cause: Error): void {
    this.fail(cause)
  }
}
