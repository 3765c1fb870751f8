/**
 * Answers that were paid for and that their caller has not got: it cancelled the call, or the answer was lost. If the same call is
 * made again, it gets this answer, or the key under which the seller may have kept it. A model repeats a cancelled call, and would
 * pay again.
 */
import { SvcError } from '../domain/errors.js'
import { isRecord } from '../domain/x402.js'
import type { Clock } from '../ports/clock.js'

interface Owed<T> {
  readonly name: string
  /** Infinite while the call of `answer` runs. */
  endMs: number
  readonly answer?: Promise<T>
  readonly idempotencyKey?: string
}

/** As long as sellers on `@svc/sdk` keep a key. */
const KEPT_MS = 600_000
/** An answer may have 16 MB. */
const KEPT_MAX = 32

export function owedAnswers<T>({ monotonic }: Pick<Clock, 'monotonic'>) {
  let owed: Owed<T>[] = []

  function keep(entry: Owed<T>): void {
    owed = [...owed.slice(-(KEPT_MAX - 1)), entry]
  }

  function take(name: string): Owed<T> | undefined {
    owed = owed.filter(({ endMs }) => endMs > monotonic())
    const found = owed.find(entry => entry.name === name)
    owed = owed.filter(entry => entry !== found)
    return found
  }

  /**
   * `name` says what is asked. `make` makes the call, with the key of an earlier one if that is known; it must not end because the
   * caller cancels after a payment was sent.
   */
  return async (
    name: string,
    signal: AbortSignal,
    make: (idempotencyKey: string | undefined) => Promise<T>,
  ): Promise<T> => {
    const earlier = take(name)
    const answer = earlier?.answer ?? make(earlier?.idempotencyKey)
    const leave = () => {
      const entry: Owed<T> = { name, answer, endMs: Number.POSITIVE_INFINITY }
      keep(entry)
      const settled = () => {
        entry.endMs = monotonic() + KEPT_MS
      }
      answer.then(settled, settled)
    }
    signal.addEventListener('abort', leave)
    if (signal.aborted) leave()
    try {
      return await answer
    } catch (error) {
      const idempotencyKey = earlier?.idempotencyKey ?? keptKeyOf(error)
      owed = owed.filter(entry => entry.answer !== answer)
      // A refusal of the second payment says nothing about the first: the earlier call may still run.
      if (idempotencyKey !== undefined) {
        // Calls that shared the answer all come here. Kept twice, the key would also go with a call that wants a new answer.
        owed = owed.filter(entry => entry.name !== name || entry.idempotencyKey !== idempotencyKey)
        const endMs = earlier?.idempotencyKey === undefined ? monotonic() + KEPT_MS : earlier.endMs
        keep({ name, idempotencyKey, endMs })
      }
      throw error
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }
}

/** The key of a failed call whose answer its seller may have: sent again, it may get that. Where a window covers it, no payment is named. */
function keptKeyOf(error: unknown): string | undefined {
  const { charged, idempotencyKey } = error instanceof SvcError && isRecord(error.detail) ? error.detail : {}
  return charged !== 'no' && typeof idempotencyKey === 'string' ? idempotencyKey : undefined
}
