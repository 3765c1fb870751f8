/** Ctrl-C, and what else asks us to end. */

export interface Interruption {
  /** Resolves with the first signal. */
  readonly first: Promise<NodeJS.Signals>
  /** Whether it has come. */
  readonly hasCome: boolean
  /** Whoever asks again wants it now. */
  onAgain(hurry: (signal: NodeJS.Signals) => void): void
}

/** `npm run` passes on a signal that the terminal has sent us already: one Ctrl-C arrives twice. */
const SAME_KEY_MS = 500

export function interruption(): Interruption {
  let hurry: ((signal: NodeJS.Signals) => void) | undefined
  let firstMs: number | undefined
  const first = new Promise<NodeJS.Signals>(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        firstMs ??= performance.now()
        resolve(signal)
        if (performance.now() - firstMs > SAME_KEY_MS) hurry?.(signal)
      })
    }
  })
  return {
    first,
    get hasCome() {
      return firstMs !== undefined
    },
    onAgain(act) {
      hurry = act
    },
  }
}
