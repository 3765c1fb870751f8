/** The handler's signal, made on first access: most handlers never use it, and making one costs more than the whole walk. */
export class Cancellation {
  #controller: AbortController | undefined
  #reason: Error | undefined

  get isCancelled(): boolean {
    return this.#reason !== undefined
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  cancel(why: string): void {
    this.#reason ??= new Error(why)
    this.#controller?.abort(this.#reason)
  }
}
