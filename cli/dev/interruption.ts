/** Signals that ask this process to end: Ctrl-C and others. */

export interface Interruption {
  /** Resolves with the first signal. */
  readonly first: Promise<NodeJS.Signals>
  /** Whether the first signal has come. */
  readonly hasCome: boolean
  /** Calls back at a second signal, which means "stop now". */
  onAgain(hurry: (signal: NodeJS.Signals) => void): void
}

/** `npm run` forwards a signal that the terminal has sent already, so one Ctrl-C arrives twice. */
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
